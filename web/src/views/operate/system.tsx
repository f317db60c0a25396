// The server itself: what it stands on, what it allows, and who may come in.

import { useEffect, useState } from "preact/hooks";

import { ask, describe, explain, save } from "../../api";
import { time } from "../../format";
import {
  Badge,
  CopyButton,
  GradeBadge,
  JsonText,
  Message,
  SureButton,
  Table,
  usePolled,
} from "../../parts";

interface Diagnostics {
  time: string;
  version: string;
  isolation: { grade: string; tier: string; mode: string; missing: string[] };
  draining: boolean;
  runners: {
    language: string;
    title: string;
    version: string;
    usable: boolean;
    reason?: string;
    kind: string;
  }[];
  host: Record<string, unknown>;
  settings: { key: string; value: string; origin: string }[];
  log: string[];
}

export function Doctor() {
  const report = usePolled(() => ask<Diagnostics>("/v1/admin/diagnostics"), 0);
  const [word, setWord] = useState("");
  const told = report.value;
  if (!told) {
    return report.error ? <Message>{report.error}</Message> : <p class="note">Looking…</p>;
  }
  const settings = told.settings.filter(
    (one) => one.key.includes(word) || one.value.includes(word),
  );
  return (
    <div class="doctor">
      <p class="result-line">
        <GradeBadge isolation={told.isolation} /> Belljar {told.version},{" "}
        {told.isolation.mode}
        <span class="grow" />
        <button type="button" class="small" onClick={report.again}>
          Look again
        </button>
        <button
          type="button"
          class="small"
          onClick={() =>
            save(
              new Blob([JSON.stringify(told, null, 2)], { type: "application/json" }),
              "belljar-diagnostics.json",
            )
          }
        >
          Download the report
        </button>
      </p>
      <h2>Isolation</h2>
      {told.isolation.missing.length === 0 ? (
        <Message kind="good">Every layer of isolation is there.</Message>
      ) : (
        <Message>
          Missing here: {told.isolation.missing.join(", ")}. <code>belljar doctor</code> on the host
          says how to get it.
        </Message>
      )}
      <h2>Languages</h2>
      <Table
        caption="Languages"
        rows={told.runners}
        empty="None."
        columns={[
          { title: "Language", cell: (row) => row.title },
          { title: "Version", cell: (row) => row.version },
          { title: "Started", cell: (row) => row.kind },
          {
            title: "Usable",
            kind: "wrap",
            cell: (row) =>
              row.usable ? (
                <Badge kind="good">yes</Badge>
              ) : (
                <>
                  <Badge kind="bad">no</Badge> {row.reason}
                </>
              ),
          },
        ]}
      />
      <h2>Host</h2>
      <Table
        caption="Host"
        rows={Object.entries(told.host)}
        empty="Nothing is told."
        columns={[
          { title: "What", cell: ([name]) => name },
          {
            title: "Value",
            kind: "wrap",
            cell: ([, value]) =>
              typeof value === "object" ? JSON.stringify(value) : String(value),
          },
        ]}
      />
      <h2>Settings</h2>
      <label class="field">
        Only those with{" "}
        <input value={word} onInput={(event) => setWord(event.currentTarget.value)} />
      </label>
      <Table
        caption="Settings"
        rows={settings}
        empty="None."
        columns={[
          { title: "Setting", cell: (row) => <code>{row.key}</code> },
          { title: "Value", kind: "wrap", cell: (row) => row.value },
          { title: "From", cell: (row) => row.origin },
        ]}
      />
      <h2>Last lines of the log</h2>
      <pre class="text" tabIndex={0} aria-label="Log">
        {told.log.slice(-100).join("\n")}
      </pre>
    </div>
  );
}

interface Preview {
  allowed: boolean;
  reason?: string;
  code?: string;
}

export function Policy() {
  const [found, setFound] = useState<Record<string, unknown>>();
  const [problem, setProblem] = useState("");
  const [code, setCode] = useState("import socket\nprint(6*7)\n");
  const [timeout, setTimeout_] = useState("");
  const [decision, setDecision] = useState<Preview>();

  useEffect(() => {
    const load = async () => {
      const paths = Object.entries((await describe()).paths)
        .filter(
          ([path, item]) => path.startsWith("/v1/policy") && "get" in item && !path.includes("{"),
        )
        .map(([path]) => path);
      const entries = await Promise.all(
        paths.map(async (path) => [path, await ask<unknown>(path)] as const),
      );
      setFound(Object.fromEntries(entries));
    };
    load().catch((error: unknown) => setProblem(explain(error)));
  }, []);

  const preview = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      setDecision(
        await ask<Preview>("/v1/policy/preview", {
          body: { code, ...(timeout ? { timeout: Number(timeout) } : {}) },
        }),
      );
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <div class="policy">
      <h2>What would be decided</h2>
      <form class="decide" onSubmit={preview}>
        <label class="field tall">
          Python program
          <textarea rows={4} value={code} onInput={(event) => setCode(event.currentTarget.value)} />
        </label>
        <label class="field tall">
          Time in seconds
          <input
            inputMode="decimal"
            value={timeout}
            onInput={(event) => setTimeout_(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Ask without running it
        </button>
      </form>
      {problem && <Message>{problem}</Message>}
      {decision && (
        <Message kind={decision.allowed ? "good" : "bad"}>
          {decision.allowed
            ? "It would be allowed."
            : `It would be refused: ${decision.reason ?? decision.code ?? ""}`}
        </Message>
      )}
      {decision && <JsonText value={decision} label="The decision" />}
      <h2>The policy in force</h2>
      {found && Object.keys(found).length === 0 && (
        <p class="empty">This server tells its policy only run by run, as above.</p>
      )}
      {Object.entries(found ?? {}).map(([path, value]) => (
        <section key={path}>
          <h3>
            <code>{path}</code>
          </h3>
          <JsonText value={value} label={path} />
        </section>
      ))}
    </div>
  );
}

interface Token {
  name: string;
  roles: string[];
  created: string;
  expires: string | null;
  expired: boolean;
}

export function Tokens() {
  const tokens = usePolled(() => ask<{ tokens: Token[] }>("/v1/admin/tokens"), 10_000);
  const [problem, setProblem] = useState("");
  const [made, setMade] = useState<{ name: string; token: string }>();
  const [wanted, setWanted] = useState({ name: "", role: "user", expires: "30d" });

  const create = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      setMade(
        await ask<{ name: string; token: string }>("/v1/admin/tokens", {
          body: { name: wanted.name, roles: [wanted.role], expires: wanted.expires },
        }),
      );
      setWanted({ ...wanted, name: "" });
    } catch (error) {
      setProblem(explain(error));
    }
    tokens.again();
  };
  const revoke = async (name: string) => {
    setProblem("");
    await ask(`/v1/admin/tokens/${encodeURIComponent(name)}`, { method: "DELETE" }).catch(
      (error: unknown) => setProblem(explain(error)),
    );
    tokens.again();
  };
  return (
    <>
      <form class="search" onSubmit={create} aria-label="New token">
        <label class="field tall">
          Name
          <input
            required
            value={wanted.name}
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
            onInput={(event) => setWanted({ ...wanted, name: event.currentTarget.value })}
          />
        </label>
        <label class="field tall">
          Role
          <select
            value={wanted.role}
            onChange={(event) => setWanted({ ...wanted, role: event.currentTarget.value })}
          >
            {["user", "operator", "auditor", "admin"].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="field tall">
          Valid for
          <select
            value={wanted.expires}
            onChange={(event) => setWanted({ ...wanted, expires: event.currentTarget.value })}
          >
            {[
              ["1h", "an hour"],
              ["1d", "a day"],
              ["30d", "30 days"],
              ["365d", "a year"],
              ["never", "ever"],
            ].map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Create
        </button>
      </form>
      {problem && <Message>{problem}</Message>}
      {tokens.error && <Message>{tokens.error}</Message>}
      {made && (
        <div class="message good" role="status">
          <p>The token of {made.name}, shown this once:</p>
          <p>
            <code class="secret">{made.token}</code> <CopyButton text={made.token} />{" "}
            <button type="button" class="small" onClick={() => setMade(undefined)}>
              Done
            </button>
          </p>
        </div>
      )}
      <Table
        caption="Tokens"
        rows={tokens.value?.tokens ?? []}
        empty="No named tokens."
        id={(row) => row.name}
        columns={[
          { title: "Name", cell: (row) => row.name },
          { title: "Roles", cell: (row) => row.roles.join(", ") },
          { title: "Created", cell: (row) => time(row.created) },
          {
            title: "Expires",
            cell: (row) =>
              row.expired ? (
                <Badge kind="bad">expired</Badge>
              ) : row.expires ? (
                time(row.expires)
              ) : (
                "never"
              ),
          },
          {
            title: "Action",
            kind: "action",
            cell: (row) => (
              <SureButton label="Revoke" sure="Really revoke" onSure={() => revoke(row.name)} />
            ),
          },
        ]}
      />
    </>
  );
}
