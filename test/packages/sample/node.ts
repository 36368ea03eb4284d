import { use } from './use.js';

const before = Object.keys(globalThis);
const { DataConsoleEmbed } = await import('data-console-embed');
const added = Object.keys(globalThis).filter((name) => !before.includes(name));
const used = await use(JSON.parse(process.argv[2] ?? ''));
console.log(JSON.stringify({ element: typeof DataConsoleEmbed, added, used }));
