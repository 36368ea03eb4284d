import { listRoutes, makeRequest } from '../../bench/bodies/routes.ts';
import { COSTLY, makeBody } from '../contract/costly.ts';
import type { Case } from './case.ts';

const BYTES = 1024 * 1024;
/** Room for the names of the place. */
const NAMES_ROOM_BYTES = 300;

let token = '';

/** What costs most to read of a body of 1 MiB, at every route that takes JSON: as the whole body, and in its last place. */
export const BODIES: Case[] = COSTLY.map(([what, json]) => ({
  name: `bodies of 1 MiB of ${what}, at every route`,
  prepare: async (system) => {
    token = await system.logIn();
  },
  run: async (system) => {
    const written = json(BYTES - NAMES_ROOM_BYTES);
    for (const route of await listRoutes(system)) {
      const paths = [...route.places.values()];
      for (const path of [paths[0], paths.at(-1)]) {
        const answer = await fetch(await makeRequest(system, route, makeBody(path ?? [], written), token));
        await answer.arrayBuffer();
        if (answer.status >= 500) throw new Error(`${route.name} answered ${answer.status}`);
      }
    }
  },
}));
