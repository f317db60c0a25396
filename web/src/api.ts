// Talks to the server that the page came from, and to nobody else.

import { leave, storedToken } from "./session";

// A refusal of the server, or that there was no answer (status 0).
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code = "",
  ) {
    super(message);
  }
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

interface Order {
  method?: string;
  body?: unknown; // sent as JSON, unless it is a Blob
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function authorization(): Record<string, string> {
  const token = storedToken();
  return token ? { Authorization: `Bearer ${token}` } : {};
}

export async function call(path: string, order: Order = {}): Promise<Response> {
  const headers: Record<string, string> = { ...authorization(), ...order.headers };
  let body: BodyInit | undefined;
  if (order.body instanceof Blob) {
    body = order.body;
    headers["Content-Type"] ??= "application/octet-stream";
  } else if (order.body !== undefined) {
    body = JSON.stringify(order.body);
    headers["Content-Type"] = "application/json";
  }
  let response: Response;
  try {
    response = await fetch(path, {
      method: order.method ?? (body === undefined ? "GET" : "POST"),
      headers,
      body,
      signal: order.signal,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (order.signal?.aborted) throw error;
    throw new Problem(0, "The server does not answer.");
  }
  if (response.ok) return response;
  const problem = await readProblem(response);
  if (response.status === 401 && storedToken()) {
    leave("The token is not valid any more. Enter another one to go on.");
  }
  throw problem;
}

async function readProblem(response: Response): Promise<Problem> {
  try {
    const told = (await response.json()) as { detail?: string; error?: string; code?: string };
    return new Problem(
      response.status,
      told.detail ?? told.error ?? response.statusText,
      told.code ?? "",
    );
  } catch {
    return new Problem(response.status, `The server answered ${response.status}.`);
  }
}

export async function ask<T>(path: string, order: Order = {}): Promise<T> {
  const response = await call(path, order);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Lets the browser keep something under a name. The address is forgotten once it is taken.
export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export async function saveFrom(path: string, name: string): Promise<void> {
  const response = await call(path);
  save(await response.blob(), name);
}

export function fileAddress(conversation: string, path: string): string {
  const parts = path.split("/").map(encodeURIComponent).join("/");
  return `/v1/conversations/${encodeURIComponent(conversation)}/files/${parts}`;
}

// A signed address as results have it, on the origin of this page: the name by which the server
// knows itself may be another.
export function onThisOrigin(address: string): string {
  try {
    const url = new URL(address, location.origin);
    return url.protocol.startsWith("http") ? `${url.pathname}${url.search}` : "#";
  } catch {
    return "#";
  }
}

export interface Description {
  paths: Record<string, Record<string, unknown>>;
}

let description: Promise<Description> | undefined;

export function describe(): Promise<Description> {
  description ??= ask<Description>("/openapi.json");
  return description;
}
