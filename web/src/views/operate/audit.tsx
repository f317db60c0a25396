// Who ran what, and whether the trail of it is whole.

import { useEffect, useState } from "preact/hooks";

import { ask, describe, explain } from "../../api";
import { count, seconds, time } from "../../format";
import { Message, StatusBadge, Table } from "../../parts";

type Record_ = Record<string, unknown>;

interface AuditPage {
  records: Record_[];
  next_cursor: string | null;
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
      <ChainStatus />
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

interface Report {
  intact: boolean | null;
  records?: number;
  signed_seq?: number;
  reason?: string;
  fault?: { file: string; line: number; seq: number; why: string };
}

interface Chain {
  last_seq: number;
  signed_seq: number;
  signed_at: string | null;
  writable: boolean;
  verification: { running: boolean; ended: string | null; report: Report | null };
}

const VERIFYING_MS = 500;

// The trail itself, if the server keeps one: a chain of hashes, signed now and then.
function ChainStatus() {
  const [kept, setKept] = useState<boolean>();
  const [chain, setChain] = useState<Chain>();
  const [problem, setProblem] = useState("");

  const load = async () => {
    try {
      setChain(await ask<Chain>("/v1/audit/chain"));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  useEffect(() => {
    describe()
      .then((told) => {
        const found = "/v1/audit/chain" in told.paths;
        setKept(found);
        if (found) void load();
      })
      .catch(() => setKept(false));
  }, []);
  useEffect(() => {
    if (!chain?.verification.running) return undefined;
    const timer = setTimeout(load, VERIFYING_MS);
    return () => clearTimeout(timer);
  }, [chain]);
  const verify = async () => {
    setProblem("");
    try {
      await ask("/v1/audit/verification", { method: "POST" });
    } catch (error) {
      setProblem(explain(error));
    }
    await load();
  };

  if (kept === false) {
    return (
      <Message kind="calm">
        The records come out of the server's state. This server keeps no chain that would prove them
        unchanged.
      </Message>
    );
  }
  if (!chain) return problem ? <Message>{problem}</Message> : <p class="note">Loading…</p>;
  return (
    <section class="chain" aria-label="Chain of records">
      <ChainVerdict chain={chain} />
      {problem && <Message>{problem}</Message>}
      <p class="note">
        {count(chain.last_seq)} records, signed up to {count(chain.signed_seq)}
        {chain.signed_at && ` at ${time(chain.signed_at)}`}.{" "}
        <button
          type="button"
          class="small"
          disabled={chain.verification.running}
          onClick={verify}
        >
          Verify the chain
        </button>
      </p>
    </section>
  );
}

function ChainVerdict({ chain }: { chain: Chain }) {
  const { running, report } = chain.verification;
  if (!chain.writable) return <Message>The trail cannot be written at the moment.</Message>;
  if (running) return <Message kind="calm">The chain is being verified…</Message>;
  if (!report) return <Message kind="calm">The chain was not verified since the start.</Message>;
  if (report.intact) {
    return (
      <Message kind="good">
        The chain is whole: {count(report.records ?? 0)} records were verified.
      </Message>
    );
  }
  return (
    <Message>
      {report.fault
        ? `The chain is broken at record ${report.fault.seq}: ${report.fault.why}`
        : `The chain could not be verified: ${report.reason ?? "no reason was given"}`}
    </Message>
  );
}
