// Programs to begin with.

export interface Example {
  title: string;
  language: string;
  code: string;
  about?: string;
}

export const EXAMPLES: Example[] = [
  {
    title: "Hello",
    language: "python",
    code: `print("Hello from under the glass")
6 * 7
`,
  },
  {
    title: "Data analysis",
    language: "python",
    code: `import pandas as pd

sales = pd.DataFrame({
    "region": ["north", "south", "north", "west", "south", "west"],
    "units": [120, 80, 95, 60, 140, 75],
    "price": [9.5, 11.0, 9.5, 12.25, 11.0, 12.25],
})
sales["revenue"] = sales.units * sales.price
print(f"{len(sales)} rows, {sales.revenue.sum():,.2f} in all")
sales.groupby("region")[["units", "revenue"]].sum()
`,
  },
  {
    title: "Plots",
    language: "python",
    code: `import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 12, 400)
for damping in (0.1, 0.25, 0.5):
    plt.plot(x, np.exp(-damping * x) * np.cos(3 * x), label=f"damping {damping}")
plt.title("A bell, ringing less and less")
plt.legend()
plt.grid(alpha=0.3)
`,
  },
  {
    title: "TypeScript: Fibonacci",
    language: "typescript",
    code: `function fibonacci(n: number): bigint {
  let [a, b]: [bigint, bigint] = [0n, 1n];
  for (let i = 0; i < n; i++) [a, b] = [b, a + b];
  return a;
}

for (const n of [10, 50, 100]) {
  console.log(\`fibonacci(\${n}) = \${fibonacci(n)}\`);
}
`,
  },
  {
    title: "Files",
    language: "python",
    code: `import csv, json, pathlib

rows = [{"n": n, "square": n * n, "cube": n ** 3} for n in range(1, 21)]
with open("powers.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
pathlib.Path("summary.json").write_text(json.dumps({"rows": len(rows)}))
print("wrote", sorted(path.name for path in pathlib.Path(".").iterdir()))
`,
  },
  {
    title: "Colours, as it comes",
    language: "python",
    code: `import time

for step in range(1, 11):
    bar = "=" * step * 3
    print(f"\\x1b[3{step % 6 + 1}m{bar}\\x1b[0m \\x1b[1m{step * 10} %\\x1b[0m", flush=True)
    time.sleep(0.15)
`,
  },
  {
    title: "A blocked attempt",
    language: "python",
    about:
      "This tries to reach the network, to read what is secret and to write where it must not. " +
      "The sandbox refuses, and the result says which rule did and what would be allowed.",
    code: `import socket

for path in ("/etc/shadow", "/root/.ssh/id_rsa"):
    try:
        print(open(path).read())
    except OSError as error:
        print(f"{path}: {error.strerror}")

# Not caught, so that the result explains it.
socket.create_connection(("collector.example", 443), timeout=2)
`,
  },
  {
    title: "Bash",
    language: "bash",
    code: `echo "I am $(id -un), and this is all I see:"
ls /
echo "Processes: $(ls -d /proc/[0-9]* | wc -l)"
`,
  },
];
