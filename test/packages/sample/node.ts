import { useClient } from './use.js';

const globalsBefore = Object.keys(globalThis);
const { DataConsoleEmbed } = await import('data-console-embed');
const addedGlobals = Object.keys(globalThis).filter((name) => !globalsBefore.includes(name));
const useResult = await useClient(JSON.parse(process.argv[2] ?? ''));
console.log(JSON.stringify({ element: typeof DataConsoleEmbed, added: addedGlobals, used: useResult }));
