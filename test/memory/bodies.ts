import { listRoutes, makeRequest } from '../../bench/bodies/routes.ts';
import { COSTLY_VALUES, makeBody } from '../contract/costly.ts';
import type { MemoryCase } from './case.ts';

const BODY_BYTES = 1024 * 1024;
/** Bytes reserved for the member names around the value. */
const RESERVED_NAME_BYTES = 300;

let token = '';

/** The most costly bodies of 1 MiB, at every route that takes JSON: as the whole body, and as the last member of its schema. */
export const BODY_CASES: MemoryCase[] = COSTLY_VALUES.map(([title, makeJson]) => ({
  name: `bodies of 1 MiB of ${title}, at every route`,
  prepare: async (system) => {
    token = await system.logIn();
  },
  run: async (system) => {
    const costlyJson = makeJson(BODY_BYTES - RESERVED_NAME_BYTES);
    for (const route of await listRoutes(system)) {
      const paths = [...route.bodyPaths.values()];
      for (const path of [paths[0], paths.at(-1)]) {
        const answer = await fetch(await makeRequest(system, route, makeBody(path ?? [], costlyJson), token));
        await answer.arrayBuffer();
        if (answer.status >= 500) throw new Error(`${route.name} answered ${answer.status}`);
      }
    }
  },
}));
