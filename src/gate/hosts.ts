/** Names of hosts in words of commands. */

/** `isStrict`: only what is surely a host; otherwise all that may be one. */
export function hostsIn(word: string, isStrict: boolean): string[] {
  const found = new Set<string>();
  const urls = word.match(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi) ?? [];
  for (const url of urls) add(found, hostOf(url));
  if (isStrict && urls.length > 0) return [...found];
  // `git@example.com:path`, `example.com:22`, `example.com/path`, `--host=example.com`
  for (const part of word.split(/[\s=,]/)) {
    const [place = ""] = part.replace(/^[^@/]*@/, "").split(/[/?#]/);
    add(found, hostOf(`http://${place}`) ?? hostOf(`http://${place.split(":")[0]}`));
  }
  return [...found];
}

/** With the same spelling for all ways to write it: other digits, other letters, a last dot. */
export function hostOf(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.hostname === "") return null;
  const isSpecial = ["http:", "https:", "ws:", "wss:", "ftp:"].includes(parsed.protocol);
  const { hostname } = isSpecial ? parsed : (URL.parse(`http://${parsed.host}`) ?? parsed);
  return hostname.toLowerCase().replace(/\.$/, "");
}

function add(found: Set<string>, host: string | null): void {
  if (host !== null) found.add(host);
}

export function isHostLike(host: string, pattern: string): boolean {
  if (pattern === "*") return true;
  if (pattern.startsWith("*.")) return host.endsWith(pattern.slice(1));
  return host === (hostOf(`http://${pattern}`) ?? pattern);
}
