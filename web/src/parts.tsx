// Small things that several views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { explain } from "./api";
import type { Isolation } from "./session";

export function Badge({
  kind,
  children,
  title,
}: {
  kind: string;
  children: ComponentChildren;
  title?: string;
}) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}

const GRADES: Record<string, string> = { full: "good", standard: "calm" };

export function GradeBadge({ isolation }: { isolation: Isolation }) {
  const missing =
    isolation.missing.length > 0
      ? `missing: ${isolation.missing.join(", ")}`
      : "nothing is missing";
  return (
    <Badge
      kind={`grade ${GRADES[isolation.grade] ?? "low"}`}
      title={`How well programs are isolated here; ${missing}`}
    >
      <span class="word">Isolation </span>
      {isolation.grade}
    </Badge>
  );
}

const GOOD = new Set(["ok", "ended", "ready", "kept"]);
const CALM = new Set(["queued", "running", "cancelled"]);

export function StatusBadge({ status }: { status: string }) {
  return (
    <Badge kind={GOOD.has(status) ? "good" : CALM.has(status) ? "calm" : "bad"}>{status}</Badge>
  );
}

export function Message({
  kind = "bad",
  children,
}: {
  kind?: string;
  children: ComponentChildren;
}) {
  return (
    <p class={`message ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      {children}
    </p>
  );
}

export function Meter({
  label,
  value,
  most,
  text,
}: {
  label: string;
  value: number;
  most: number;
  text: string;
}) {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  const level = share > 0.9 ? "high" : share > 0.6 ? "middle" : "low";
  return (
    <div class="meter">
      <span class="meter-label">{label}</span>
      <svg
        class={`meter-bar ${level}`}
        role="img"
        aria-label={`${label}: ${text}`}
        height="6"
        width="100%"
      >
        <rect class="track" width="100%" height="6" rx="3" />
        <rect
          class="fill"
          width={`${Math.max(share * 100, value > 0 ? 1.5 : 0)}%`}
          height="6"
          rx="3"
        />
      </svg>
      <span class="meter-text">{text}</span>
    </div>
  );
}

// False if the person does not allow it, and over plain HTTP, where pages have no clipboard.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [said, say] = useState("");
  const copy = async () => {
    say((await copyText(text)) ? "Copied" : "Select and copy by hand");
    setTimeout(() => say(""), 2000);
  };
  return (
    <button type="button" class="small" onClick={copy}>
      {said || label}
    </button>
  );
}

// What is asked for now and again every few seconds while it is looked at.
export function usePolled<T>(load: () => Promise<T>, every: number, keys: unknown[] = []) {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  const latest = useRef(load);
  latest.current = load;
  const again = useRef<() => void>(() => undefined);
  useEffect(() => {
    let timer = 0;
    let asked = 0; // only the last question's answer counts
    const step = async () => {
      clearTimeout(timer);
      const mine = (asked += 1);
      try {
        const value = await latest.current();
        if (mine === asked) setState({ value });
      } catch (error) {
        if (mine === asked) setState((before) => ({ ...before, error: explain(error) }));
      }
      if (mine === asked && every > 0) timer = window.setTimeout(step, every);
    };
    again.current = step;
    void step();
    return () => {
      asked = 0;
      again.current = () => undefined;
      clearTimeout(timer);
    };
  }, keys);
  return { ...state, again: () => again.current() };
}

export interface Column<T> {
  title: string;
  cell(row: T): ComponentChildren;
  kind?: string;
}

export function Table<T>({
  rows,
  columns,
  empty,
  caption,
  id,
}: {
  rows: T[];
  columns: Column<T>[];
  empty: string;
  caption: string;
  id?(row: T): string; // by which a row is known again; needed where a cell keeps a state
}) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${caption}, a table`}>
      <table>
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>
            {columns.map((one) => (
              <th scope="col" class={one.kind} key={one.title}>
                {one.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={id ? id(row) : index}>
              {columns.map((one) => (
                <td class={one.kind} key={one.title}>
                  {one.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// A button that asks once more before it does what cannot be undone.
export function SureButton({
  label,
  sure,
  onSure,
}: {
  label: string;
  sure: string;
  onSure(): Promise<unknown>;
}) {
  const [state, setState] = useState<"idle" | "asked" | "busy">("idle");
  const press = async () => {
    if (state === "idle") {
      setState("asked");
      setTimeout(() => setState((now) => (now === "asked" ? "idle" : now)), 15_000);
      return;
    }
    setState("busy");
    await onSure().catch(() => undefined);
    setState("idle");
  };
  return (
    <button
      type="button"
      class={`small danger ${state}`}
      disabled={state === "busy"}
      onClick={press}
    >
      {state === "idle" ? label : sure}
    </button>
  );
}

// JSON as it is, up to a size that a page can bear.
export function JsonText({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2) ?? "null";
  const most = 20_000;
  return (
    <div>
      <pre class="json" tabIndex={0} aria-label={label}>
        {text.slice(0, most)}
      </pre>
      {text.length > most && <p class="note">Only the beginning is shown.</p>}
    </div>
  );
}
