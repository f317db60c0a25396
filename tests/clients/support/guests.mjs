// A program for the sandbox that never ends and can be found from the outside.

import { randomUUID } from 'node:crypto';

import { eventually, processesWithArgument } from './processes.mjs';

// A parent, and a child in a session of its own; each becomes a program whose command line, other
// than that of the runner, shows the mark.
const CODE = `
import os, sys
if os.fork() == 0:
    os.setsid()
os.execv(sys.executable, [sys.executable, "-c", "while True: pass", sys.argv[1]])
`;

export function endlessProgram() {
  const mark = randomUUID();
  return {
    args: { code: CODE, args: [mark], timeout: 60 },
    started: () => eventually('both processes run', () => processesWithArgument(mark).length === 2),
    gone: () => eventually('no process is left', () => processesWithArgument(mark).length === 0),
  };
}
