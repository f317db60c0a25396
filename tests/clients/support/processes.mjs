// What runs on this host, read from /proc.

import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 30_000;

// A pid alone may come again; together with its start time it names one process.
function readProcess(pid) {
  try {
    // The name, in parentheses, may hold spaces and parentheses itself.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/.*\)/s, '').split(' ');
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return { pid, state: fields[1], parent: Number(fields[2]), started: fields[20], argv };
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') {
      return undefined;
    }
    throw error;
  }
}

function allProcesses() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.map(readProcess).filter((process) => process && process.state !== 'Z');
}

export function processesWithArgument(argument) {
  return allProcesses().filter((process) => process.argv.includes(argument));
}

export function treeOf(pid) {
  const all = allProcesses();
  const tree = all.filter((process) => process.pid === pid);
  for (const member of tree) {
    tree.push(...all.filter((process) => process.parent === member.pid));
  }
  return tree;
}

export function isAlive({ pid, started }) {
  const now = readProcess(pid);
  return now !== undefined && now.state !== 'Z' && now.started === started;
}

export async function eventually(what, condition) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() > deadline) {
      throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
    }
    await pause(20);
  }
}
