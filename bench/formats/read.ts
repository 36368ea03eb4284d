/** Runs one reader over one file in a process of its own; prints the reader's count, seconds of CPU and peak memory. */
import { statSync } from 'node:fs';
import { readResidentMemory, resetPeak } from '../usage.ts';
import { READERS } from './readers.ts';

const [name = '', path = ''] = process.argv.slice(2);
const readFormat = READERS[name];
if (!readFormat) throw new Error(`There is no reader "${name}".`);
const { size } = statSync(path);
const { pid } = process;
await resetPeak(pid);
const usageBefore = { cpu: process.cpuUsage(), memory: (await readResidentMemory(pid)).currentMb };
const count = await readFormat(path, size);
const { user, system } = process.cpuUsage(usageBefore.cpu);
const megabytes = (await readResidentMemory(pid)).peakMb - usageBefore.memory;
console.log(JSON.stringify({ count, seconds: (user + system) / 1e6, megabytes }));
