// How the server does: what runs, what waits, how fast, and how many jars stand ready.

import { useRef, useState } from "preact/hooks";

import { ask, call, explain } from "../../api";
import { count, seconds } from "../../format";
import {
  histogram,
  parseMetrics,
  quantile,
  total,
  type Histogram,
  type Sample,
} from "../../metrics";
import { Message, Table, usePolled } from "../../parts";
import { may } from "../../session";
import { Plot } from "./plot";

const EVERY = 2000;
const MOST_POINTS = 300;

interface Drain {
  draining: boolean;
  running: number;
  waiting: number;
}

interface Reading {
  time: number;
  runs: number;
  wall: Histogram;
}

export function Overview() {
  const readings = useRef<Reading[]>([]);
  const points = useRef<(number | null)[][]>([[], [], [], []]);
  const [error, setError] = useState("");

  const figures = usePolled(async () => {
    const samples = parseMetrics(await (await call("/metrics")).text());
    const now = {
      time: Date.now() / 1000,
      runs: total(samples, "belljar_runs_total"),
      wall: histogram(samples, "belljar_run_seconds"),
    };
    const before = readings.current.at(-1);
    readings.current = [...readings.current, now].slice(-MOST_POINTS);
    const columns = points.current.map((column) => column.slice(-(MOST_POINTS - 1)));
    columns[0]!.push(now.time);
    columns[1]!.push(
      before ? (now.runs - before.runs) / Math.max(now.time - before.time, 0.1) : null,
    );
    columns[2]!.push(before ? quantile(0.5, now.wall, before.wall) : null);
    columns[3]!.push(before ? quantile(0.95, now.wall, before.wall) : null);
    points.current = columns;
    return { samples, columns, wall: now.wall };
  }, EVERY);
  const drain = usePolled(
    async () => (may("operate") ? ask<Drain>("/v1/admin/drain") : undefined),
    EVERY,
  );

  const setDrain = async (draining: boolean) => {
    setError("");
    try {
      await ask("/v1/admin/drain", { method: "PUT", body: { draining } });
    } catch (failure) {
      setError(explain(failure));
    }
    drain.again();
  };

  if (!figures.value)
    return figures.error ? <Message>{figures.error}</Message> : <p class="note">Loading…</p>;
  const { samples, columns, wall } = figures.value;
  const half = quantile(0.5, wall);
  const most = quantile(0.95, wall);
  const pools = poolRows(samples);
  return (
    <div class="overview">
      {figures.error && <Message>{figures.error}</Message>}
      {error && <Message>{error}</Message>}
      <dl class="figures">
        <Figure name="Running" value={count(total(samples, "belljar_runs_running"))} />
        <Figure name="Waiting" value={count(total(samples, "belljar_runs_waiting"))} />
        <Figure name="Sessions" value={count(total(samples, "belljar_sessions"))} />
        <Figure name="Runs since start" value={count(total(samples, "belljar_runs_total"))} />
        <Figure name="Median" value={half === null ? "–" : seconds(half)} />
        <Figure name="95 %" value={most === null ? "–" : seconds(most)} />
        <Figure name="Denials" value={count(total(samples, "belljar_denials_total"))} />
        <Figure name="Connections" value={count(total(samples, "belljar_http_connections"))} />
      </dl>
      <div class="plots">
        <Plot
          title="Runs per second"
          lines={[{ label: "runs/s", color: "--plot-a" }]}
          data={[columns[0]!, columns[1]!]}
          top={1}
          show={(value) => value.toFixed(value < 10 ? 1 : 0)}
        />
        <Plot
          title="How long runs take"
          lines={[
            { label: "median", color: "--plot-a" },
            { label: "95 %", color: "--plot-b" },
          ]}
          data={[columns[0]!, columns[2]!, columns[3]!]}
          top={1e-3}
          show={seconds}
        />
      </div>
      {drain.value && (
        <p class="drain">
          {drain.value.draining ? "Takes no new runs." : "Takes new runs."}{" "}
          <button type="button" class="small" onClick={() => setDrain(!drain.value!.draining)}>
            {drain.value.draining ? "Take runs again" : "Drain"}
          </button>
        </p>
      )}
      <h2>Pool</h2>
      <Table
        caption="Pool"
        rows={pools}
        empty="No language keeps jars ready."
        columns={[
          { title: "Language", cell: (row) => row.language },
          { title: "Ready", kind: "number", cell: (row) => count(row.ready) },
          { title: "Found one ready", kind: "number", cell: (row) => count(row.hit) },
          { title: "Found none", kind: "number", cell: (row) => count(row.missed) },
          { title: "Needed a new one", kind: "number", cell: (row) => count(row.unfit) },
          { title: "Lost", kind: "number", cell: (row) => count(row.lost) },
        ]}
      />
    </div>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function poolRows(samples: Sample[]) {
  const value = (name: string, language: string, found?: string) =>
    samples.find(
      (one) =>
        one.name === name &&
        one.labels.language === language &&
        (!found || one.labels.found === found),
    )?.value ?? 0;
  return samples
    .filter((one) => one.name === "belljar_jars_ready")
    .map((one) => {
      const language = one.labels.language ?? "";
      return {
        language,
        ready: one.value,
        hit: value("belljar_jars_taken_total", language, "ready"),
        missed: value("belljar_jars_taken_total", language, "none"),
        unfit: value("belljar_jars_taken_total", language, "unfit"),
        lost: value("belljar_jars_lost_total", language),
      };
    });
}
