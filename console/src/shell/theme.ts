/** Light or dark: as the system says, unless somebody chose. */

export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const storageName = "bridle.console.theme";

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(storageName);
  return themes.find((theme) => theme === kept) ?? "auto";
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(storageName, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
