/** Runs one reader over one file in a process of its own: prints its count, its seconds of CPU and its peak memory. */
import { statSync } from 'node:fs';
import { readResidentMemory, resetPeak } from '../usage.ts';
import { READERS } from './readers.ts';

const [name = '', path = ''] = process.argv.slice(2);
const read = READERS[name];
if (!read) throw new Error(`There is no reader "${name}".`);
const { size } = statSync(path);
const { pid } = process;
await resetPeak(pid);
const before = { cpu: process.cpuUsage(), memory: (await readResidentMemory(pid)).now };
const count = await read(path, size);
const { user, system } = process.cpuUsage(before.cpu);
const megabytes = (await readResidentMemory(pid)).peak - before.memory;
console.log(JSON.stringify({ count, seconds: (user + system) / 1e6, megabytes }));
