// One program under way: its output as it comes, and its result.

import { useEffect, useRef, useState } from "preact/hooks";

import { explain } from "./api";
import { bytes } from "./format";
import { Message } from "./parts";
import { Denials, OutputDownloads, ResultHead, Values } from "./results";
import { cancel, run, type Limits, type RunResult, type Wish } from "./runs";
import { Terminal } from "./terminal";

export type Phase = "idle" | "starting" | "running" | "ended";

// How long a run that was asked to end may take for it before we stop listening.
const PATIENCE = 20_000;

export interface Running {
  phase: Phase;
  result?: RunResult;
  problem?: string;
  lost: number; // bytes that the server could not send while it ran
  runs: number; // that were begun
  start(wish: Wish): Promise<RunResult | undefined>;
  stop(): void;
  body: preact.RefObject<HTMLPreElement>;
  note: preact.RefObject<HTMLParagraphElement>;
}

export function useRun(): Running {
  const body = useRef<HTMLPreElement>(null);
  const note = useRef<HTMLParagraphElement>(null);
  const terminal = useRef<Terminal>();
  const control = useRef<AbortController>();
  const id = useRef("");
  const runs = useRef(0);
  const [state, setState] = useState<{
    phase: Phase;
    result?: RunResult;
    problem?: string;
    lost: number;
  }>({ phase: "idle", lost: 0 });

  useEffect(() => () => control.current?.abort(), []);

  const start = async (wish: Wish) => {
    if (control.current) return undefined;
    const controller = (control.current = new AbortController());
    const shown = (terminal.current = new Terminal(body.current!, note.current!));
    id.current = "";
    runs.current += 1;
    let lost = 0;
    setState({ phase: "starting", lost: 0 });
    try {
      const result = await run(
        wish,
        {
          started: (execution) => {
            id.current = execution;
            setState({ phase: "running", lost });
          },
          text: (stream, text) => shown.write(stream, text),
          dropped: (count) => {
            lost += count;
            shown.skip(count);
          },
        },
        controller.signal,
      );
      shown.end();
      setState({ phase: "ended", result, lost });
      return result;
    } catch (error) {
      shown.end();
      setState({
        phase: "ended",
        lost,
        problem: controller.signal.aborted
          ? "Cancelled before the server told what became of it."
          : explain(error),
      });
      return undefined;
    } finally {
      control.current = undefined;
    }
  };

  const stop = () => {
    const controller = control.current;
    if (!controller) return;
    if (!id.current) {
      controller.abort();
      return;
    }
    cancel(id.current).catch(() => controller.abort());
    setTimeout(() => {
      if (control.current === controller) controller.abort();
    }, PATIENCE);
  };

  return { ...state, runs: runs.current, start, stop, body, note };
}

export function Outcome({ running, limits }: { running: Running; limits?: Limits }) {
  const { phase, result, problem } = running;
  const silent = result && result.stdout_bytes + result.stderr_bytes === 0;
  return (
    <div class="outcome" data-runs={running.runs} data-phase={phase}>
      <p class="sr" role="status">
        {phase === "running"
          ? "The program runs."
          : phase === "ended"
            ? `The program ended${result ? `: ${result.status}` : ""}.`
            : ""}
      </p>
      {result && <ResultHead result={result} limits={limits} />}
      {problem && <Message>{problem}</Message>}
      <p class="note" ref={running.note} hidden />
      <pre
        class="terminal"
        ref={running.body}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Output of the program"
        hidden={phase === "idle" || !!silent}
      />
      {silent && <p class="note">It wrote nothing.</p>}
      {result?.error && (
        <p class="error-line">
          <strong>{result.error.type}</strong> {result.error.message.slice(0, 1000)}
          {result.error.line !== undefined && (
            <span class="quiet"> in line {result.error.line}</span>
          )}
        </p>
      )}
      {running.lost > 0 && (
        <p class="note">{bytes(running.lost)} came faster than they could be sent.</p>
      )}
      {result && (
        <>
          <Denials denials={result.denials} />
          <Values result={result} />
          <OutputDownloads result={result} />
        </>
      )}
    </div>
  );
}
