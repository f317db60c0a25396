import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { useStore } from "../../store";
import { dark } from "../../theme";

export interface Line {
  label: string;
  color: string; // a custom property of the page
}

const SHORTEST = 60; // seconds that the plot covers at least

interface Properties {
  title: string;
  lines: Line[];
  data: (number | null)[][]; // times first
  top: number; // what the scale reaches at least
  show(value: number): string;
}

// Nothing on the axis before there is anything to show.
function clock(time: number): string {
  if (time < SHORTEST) return "";
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}

export function Plot({ title, lines, data, top, show }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const look = useStore(dark);

  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color("--quiet"),
      grid: { stroke: color("--line"), width: 1 },
      ticks: { stroke: color("--line"), width: 1 },
      font: "11px system-ui",
    };
    const made = new uPlot(
      {
        width: place.current!.clientWidth,
        height: 190,
        cursor: { y: false },
        legend: { live: false },
        series: [
          { label: "time" },
          ...lines.map((line) => ({
            label: line.label,
            stroke: color(line.color),
            width: 2,
            spanGaps: true,
          })),
        ],
        scales: {
          x: { range: (_, least, most) => [Math.min(least, most - SHORTEST), most] },
          y: { range: (_, __, most) => [0, Math.max(most ?? 0, top) * 1.15] },
        },
        axes: [
          { ...axis, values: (_, values) => values.map(clock) },
          { ...axis, size: 64, values: (_, values) => values.map(show) },
        ],
      },
      data as uPlot.AlignedData,
      place.current!,
    );
    plot.current = made;
    const watcher = new ResizeObserver(() =>
      made.setSize({ width: place.current?.clientWidth ?? 300, height: 190 }),
    );
    watcher.observe(place.current!);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, [look]);

  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data]);

  const last = lines
    .map((line, at) => {
      const value = data[at + 1]?.at(-1);
      return `${line.label} ${value === null || value === undefined ? "none" : show(value)}`;
    })
    .join(", ");
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={`${title}, now: ${last}`} />
    </figure>
  );
}
