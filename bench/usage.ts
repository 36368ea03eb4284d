import { readdir, readFile, writeFile } from 'node:fs/promises';

/** Clock ticks a second in /proc; 100 on all common Linux systems. */
const TICKS_PER_SECOND = 100;

/** Returns the seconds of CPU that a process has used, with its ended children if `includesChildren`. Needs Linux. */
export async function readCpuSeconds(pid: number, includesChildren = false): Promise<number> {
  // The program's name, in parentheses, may contain any character.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [own = 0, system = 0, children = 0, childrenSystem = 0] = fields.slice(11, 15);
  return (own + system + (includesChildren ? children + childrenSystem : 0)) / TICKS_PER_SECOND;
}

/** Returns the seconds of CPU of all threads of a process, to the microsecond: for work of milliseconds. Needs Linux. */
export async function readExactCpuSeconds(pid: number): Promise<number> {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    nanoseconds += Number(text.split(' ')[0]);
  }
  return nanoseconds / 1e9;
}

/** Reads the resident memory of a process in MB: now, and its peak since its start or since `resetPeak`. Needs Linux. */
export async function readResidentMemory(pid: number): Promise<{ currentMb: number; peakMb: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const readMegabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1000;
  return { currentMb: readMegabytes('VmRSS'), peakMb: readMegabytes('VmHWM') };
}

/** Resets the peak of resident memory (proc(5), clear_refs). */
export const resetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5');
