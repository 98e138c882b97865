/** The worker that lets the console be installed, and opened without a connection. Browsers have it over https and on loopback. */

declare global {
  interface Window {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): {
        createScriptURL(url: string): string;
      };
    };
  }
}

const worker = "/console/sw.js";

export function keepFiles(): void {
  if (!("serviceWorker" in navigator)) return;
  // The one address that a script is loaded from by its name: the policy of the page asks for it to be vouched for.
  const policy = window.trustedTypes?.createPolicy("bridle-worker", { createScriptURL: (url) => url });
  navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker, { scope: "/" }).catch(() => {
    // Then the console needs its connection, as any page does.
  });
}
