import { Store } from "./store";

export type Theme = "system" | "light" | "dark";

const KEY = "belljar.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = new Store<Theme>(read());

function read(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && system.matches);
}

export const dark = new Store<boolean>(isDark());

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  dark.value = isDark();
}

export function chooseTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  theme.value = next;
  applyTheme();
}

system.addEventListener("change", applyTheme);
