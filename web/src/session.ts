// Who uses the page. The token is kept for this tab alone and sent in a header of our own making,
// so no other site can make a browser send it: there are no cookies.

import { ask, Problem } from "./api";
import { Store } from "./store";

const KEY = "belljar.token";

export interface Isolation {
  grade: string;
  tier?: string;
  mode?: string;
  missing: string[];
}

export interface Caller {
  principal: string;
  rights: string[];
  version: string;
  isolation: Isolation;
}

export type Access =
  { state: "unknown" } | { state: "asking"; message?: string } | { state: "open"; caller: Caller };

export const access = new Store<Access>({ state: "unknown" });

// null: nobody was asked; "": the server wants none.
export function storedToken(): string | null {
  return sessionStorage.getItem(KEY);
}

export function may(right: string): boolean {
  const now = access.value;
  return now.state === "open" && now.caller.rights.includes(right);
}

// Out of `#token=...`, which must not stay in the address: it is copied, shown and remembered.
export function takeTokenFromAddress(): void {
  const match = /^#token=([^&/]*)(?:&(.*))?$/.exec(location.hash);
  if (!match) return;
  sessionStorage.setItem(KEY, decode(match[1] ?? ""));
  history.replaceState(null, "", `${location.pathname}${location.search}#${match[2] ?? "/"}`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export async function enter(token: string): Promise<void> {
  const before = storedToken();
  sessionStorage.setItem(KEY, token);
  try {
    const caller = await ask<Caller>("/v1/caller");
    access.value = { state: "open", caller };
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) {
      if (before === null) sessionStorage.removeItem(KEY);
      access.value = { state: "asking", message: error.message };
      return;
    }
    leave(
      error instanceof Problem
        ? "This token is not valid here, or it has expired."
        : "The server does not answer.",
    );
  }
}

export function leave(message?: string): void {
  sessionStorage.removeItem(KEY);
  access.value = { state: "asking", message };
}

export async function begin(): Promise<void> {
  takeTokenFromAddress();
  const token = storedToken();
  if (token === null) {
    access.value = { state: "asking" };
    return;
  }
  await enter(token);
}
