// Who ran what, and whether the trail of it is whole.

import { useEffect, useState } from "preact/hooks";

import { ask, describe, explain } from "../../api";
import { seconds, time } from "../../format";
import { JsonText, Message, StatusBadge, Table } from "../../parts";

type Record_ = Record<string, unknown>;

interface AuditPage {
  records: Record_[];
  next_cursor: string | null;
  chain?: unknown;
}

const STATUSES = [
  "ok",
  "error",
  "timeout",
  "memory",
  "processes",
  "disk",
  "output",
  "killed",
  "denied",
  "cancelled",
];

export function Audit() {
  const [filters, setFilters] = useState({
    principal: "",
    status: "",
    language: "",
    since: "",
    until: "",
  });
  const [asked, setAsked] = useState("");
  const [pages, setPages] = useState<AuditPage[]>([]);
  const [problem, setProblem] = useState("");

  const load = async (query: string, cursor?: string) => {
    setProblem("");
    try {
      const page = await ask<AuditPage>(
        `/v1/audit?limit=50${query}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`,
      );
      setPages((before) => (cursor ? [...before, page].slice(-20) : [page]));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => {
    void load(asked);
  }, [asked]);

  const search = (event: Event) => {
    event.preventDefault();
    const query = Object.entries(filters)
      .filter(([, value]) => value)
      .map(([name, value]) => `&${name}=${encodeURIComponent(value)}`)
      .join("");
    if (query === asked) void load(query);
    setAsked(query);
  };
  const field = (name: keyof typeof filters, label: string, type = "text") => (
    <label class="field tall">
      {label}
      <input
        type={type}
        value={filters[name]}
        onInput={(event) => setFilters({ ...filters, [name]: event.currentTarget.value })}
      />
    </label>
  );
  const records = pages.flatMap((page) => page.records);
  const next = pages.at(-1)?.next_cursor;
  return (
    <>
      <ChainStatus inPage={pages[0]?.chain} />
      <form class="search" onSubmit={search} role="search" aria-label="Audit">
        {field("principal", "Whose")}
        <label class="field tall">
          Ended as
          <select
            value={filters.status}
            onChange={(event) => setFilters({ ...filters, status: event.currentTarget.value })}
          >
            <option value="">anything</option>
            {STATUSES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {field("language", "Language")}
        {field("since", "From", "date")}
        {field("until", "Until", "date")}
        <button type="submit" class="primary">
          Search
        </button>
      </form>
      {problem && <Message>{problem}</Message>}
      <Table
        caption="Audit records"
        rows={records}
        empty="Nothing was found."
        columns={[
          { title: "When", cell: (row) => time(text(row.created_at ?? row.time)) },
          { title: "Whose", cell: (row) => text(row.principal) || "(no name)" },
          { title: "What", cell: (row) => text(row.kind ?? row.event ?? row.language) },
          {
            title: "Ended as",
            cell: (row) => (
              <StatusBadge status={text(row.status ?? row.state ?? row.outcome) || "–"} />
            ),
          },
          { title: "Took", kind: "number", cell: (row) => took(row) },
          { title: "Denials", kind: "number", cell: (row) => text(row.denials) },
          { title: "Isolation", cell: (row) => text(row.grade) },
          {
            title: "Code",
            cell: (row) => (
              <code title={text(row.code_sha256)}>{text(row.code_sha256).slice(0, 10)}</code>
            ),
          },
          {
            title: "Run",
            cell: (row) => (
              <code title={text(row.execution_id)}>{text(row.execution_id).slice(0, 13)}</code>
            ),
          },
        ]}
      />
      {next && (
        <p class="pages">
          <button type="button" class="small" onClick={() => load(asked, next)}>
            More
          </button>
        </p>
      )}
    </>
  );
}

function text(value: unknown): string {
  return value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value).slice(0, 60)
      : String(value);
}

function took(row: Record_): string {
  const usage = row.usage as { wall_seconds?: number } | undefined;
  return usage?.wall_seconds === undefined ? "" : seconds(usage.wall_seconds);
}

// What the server says about its own trail, if it is one that keeps a chain.
function ChainStatus({ inPage }: { inPage: unknown }) {
  const [found, setFound] = useState<unknown>();
  const [path, setPath] = useState<string | null>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    describe()
      .then((told) => {
        const known = Object.keys(told.paths).find((one) =>
          /^\/v1\/audit[/:](verify|chain|status|head)/.test(one),
        );
        setPath(known && "get" in told.paths[known]! ? known : null);
      })
      .catch(() => setPath(null));
  }, []);
  const check = async () => {
    setProblem("");
    try {
      setFound(await ask<unknown>(path!));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => {
    if (path) void check();
  }, [path]);
  const status = found ?? inPage;
  if (!path && status === undefined) {
    return (
      <Message kind="calm">
        The records come out of the server's state. This server keeps no chain that would prove them
        unchanged.
      </Message>
    );
  }
  const whole = status !== undefined && isWhole(status);
  return (
    <section class="chain" aria-label="Chain of records">
      <Message kind={whole ? "good" : status === undefined ? "calm" : "bad"}>
        {status === undefined
          ? "Checking the chain…"
          : whole
            ? "The chain of records is whole."
            : "The chain of records is not known to be whole."}
      </Message>
      {problem && <Message>{problem}</Message>}
      {status !== undefined && (
        <details>
          <summary>What the server says of it</summary>
          <JsonText value={status} label="State of the chain" />
        </details>
      )}
      {path && (
        <button type="button" class="small" onClick={check}>
          Check again
        </button>
      )}
    </section>
  );
}

// Any of the words that such an answer may say it with.
function isWhole(status: unknown): boolean {
  if (typeof status !== "object" || status === null) return false;
  const told = status as Record_;
  return (
    ["valid", "whole", "intact", "ok", "verified", "unbroken"].some(
      (name) => told[name] === true,
    ) ||
    ["ok", "valid", "whole", "intact", "unbroken"].includes(String(told.status ?? told.state ?? ""))
  );
}
