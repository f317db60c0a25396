// The server's own figures, out of the text that it gives to Prometheus.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const match = LINE.exec(line);
    if (!match) continue;
    const labels: Record<string, string> = {};
    for (const label of (match[2] ?? "").matchAll(LABEL)) {
      labels[label[1]!] = label[2]!.replace(/\\(.)/g, (_, letter: string) =>
        letter === "n" ? "\n" : letter,
      );
    }
    samples.push({ name: match[1]!, labels, value: Number(match[3]) });
  }
  return samples;
}

export function total(samples: Sample[], name: string): number {
  return samples.filter((one) => one.name === name).reduce((sum, one) => sum + one.value, 0);
}

// Upper ends of classes and how many are at or below each.
export type Histogram = [number, number][];

export function histogram(samples: Sample[], name: string): Histogram {
  return samples
    .filter((one) => one.name === `${name}_bucket`)
    .map((one): [number, number] => [
      one.labels.le === "+Inf" ? Infinity : Number(one.labels.le),
      one.value,
    ])
    .sort((left, right) => left[0] - right[0]);
}

// Of what came between two readings; null if nothing did.
export function quantile(share: number, now: Histogram, before?: Histogram): number | null {
  const counts = now.map(([end, value], at): [number, number] => [
    end,
    value - (before?.[at]?.[1] ?? 0),
  ]);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return null;
  let start = 0;
  let below = 0;
  for (const [end, value] of counts) {
    if (value >= all * share) {
      if (end === Infinity) return start;
      return start + (end - start) * ((all * share - below) / Math.max(value - below, 1));
    }
    start = end;
    below = value;
  }
  return start;
}
