import { CompactSign } from 'jose';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SURFACES } from '../../src/app.ts';
import { createEmbedClient, createSigningKey } from '../embeds/support.ts';
import { makeScheduleInput, SCHEDULES_PATH } from '../schedules/support.ts';
import { CONTEXTS_PATH, createShareContext } from '../share-portal/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

/** A number that a double rounds, in a place of JSON where a number stands. */
const LARGE_NUMBER = '9007199254740993';
const makeRawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
const rawJson = makeRawJson(LARGE_NUMBER);

const company = await createProvisionedCompany();
const key = await createSigningKey(company);
const shownNumber = { ...makeParameter('number', 'number'), viewer_attribute: 'number' };
const visualization: { _id: string } = await postVisualization(company.as, 'SELECT {{number}}::bigint AS n', {
  parameters: [shownNumber],
});
const dashboard: { _id: string } = await postDashboard(company.as, [visualization], { filters: [shownNumber] });

describe('a number that a double rounds', () => {
  it('is kept with all its digits in the attributes of a member', async () => {
    const context = await createShareContext(company);
    const user = await createAllowedUser(company);
    const { status, body } = await company.as.post(`${CONTEXTS_PATH}/${context.id}/members`, {
      json: { member_type: 'internal_user', member_id: user.id, attributes: { number: rawJson } },
    });
    expect([status, body.attributes]).toEqual([201, { number: LARGE_NUMBER }]);
  });

  it('is kept with all its digits in the token of a host', async () => {
    const viewer = { id: 'a', attributes: { number: rawJson } };
    const exp = Math.floor(Date.now() / 1000) + 60;
    // Times stay numbers, however many digits a host writes.
    const iat = makeRawJson(`${exp - 60}.12345678901234567`);
    const payload = JSON.stringify({ aud: 'embed', iat, exp, dashboard_id: dashboard._id, viewer });
    const token = await new CompactSign(new TextEncoder().encode(payload))
      .setProtectedHeader({ alg: 'HS256', kid: key.id })
      .sign(new TextEncoder().encode(key.secret));
    const { status, body } = await createEmbedClient('d', token).execute();
    expect([status, body.results?.[0].rows]).toEqual([200, [[LARGE_NUMBER]]]);
  });

  it('is kept with all its digits as the default of a parameter, whose record can be sent back', async () => {
    const parameters = [{ ...makeParameter('number', 'number'), default: rawJson }];
    const { status, body } = await company.as.post(VISUALIZATIONS_PATH, {
      json: { name: 'Large', sql: 'SELECT {{number}}::bigint AS n', chart: { type: 'table' }, parameters },
    });
    expect([status, body.parameters?.[0].default]).toEqual([201, LARGE_NUMBER]);
    const path = `${VISUALIZATIONS_PATH}/${body._id}`;
    const execution = await company.as.post(`${path}/execute`, { json: {} });
    expect([execution.status, execution.body.result?.rows]).toEqual([200, [[LARGE_NUMBER]]]);
    expect((await company.as.put(path, { json: body })).body.parameters).toEqual(body.parameters);
  });

  it('is kept with all its digits in the options and the default of a filter', async () => {
    const filter = {
      ...makeParameter('number', 'multi_select'),
      options: [{ label: rawJson, value: rawJson }],
      default: [rawJson],
    };
    const { status, body } = await company.as.post(DASHBOARDS_PATH, { json: { name: 'Large', filters: [filter] } });
    expect([status, body.filters?.[0]]).toEqual([
      201,
      expect.objectContaining({ options: [{ label: LARGE_NUMBER, value: LARGE_NUMBER }], default: [LARGE_NUMBER] }),
    ]);
  });

  it('is kept with all its digits in the parameters and the condition of a schedule', async () => {
    const condition = { visualization_id: visualization._id, column: 'n', op: 'eq', value: rawJson };
    const { status, body } = await company.as.post(SCHEDULES_PATH, {
      json: makeScheduleInput(dashboard, {
        recipients: [{ user_id: company.owner.id }],
        parameters: { number: rawJson },
        condition,
      }),
    });
    expect([status, body.parameters, body.condition?.value]).toEqual([201, { number: LARGE_NUMBER }, LARGE_NUMBER]);
  });
});

/** Matches the routes that take values of any type, none of which is a value of a table. */
const OTHER_VALUES_PATTERN =
  /accounts|\/policies|\/users|^post \/oauth\/register|^patch \/scim|passkeys|suggestions\/\{id\}\/accept$/;

it('every route that takes values of any type keeps all digits of a number', () => {
  const roundingRoutes = SURFACES.flatMap(({ endpoints }) => endpoints)
    .map(({ contract }) => contract)
    .filter(({ body, exactNumbers }) => body && !exactNumbers && takesAnyValue(body))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !OTHER_VALUES_PATTERN.test(route));
  expect(roundingRoutes).toEqual([]);
});

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns true if a member of a body takes texts as well as numbers, or anything. */
function takesAnyValue(body: z.ZodType): boolean {
  const root = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
  const visitedSchemas = new Set<unknown>();
  const allowsAnything = (schema: unknown): boolean => {
    if (typeof schema !== 'object' || schema === null || visitedSchemas.has(schema)) return false;
    visitedSchemas.add(schema);
    const { anyOf = [], oneOf = [], allOf = [], ...own } = schema as JsonSchema;
    if (own.$ref) return allowsAnything(root.$defs?.[own.$ref.split('/').at(-1) as string]);
    const variants = [...anyOf, ...oneOf, ...allOf] as JsonSchema[];
    const types = [own, ...variants].map(({ type }) => type);
    const isAnything = variants.length === 0 && own.type === undefined && own.enum === undefined && !('const' in own);
    if (isAnything || (types.includes('string') && types.includes('number'))) return true;
    const members = [...Object.values(own.properties ?? {}), own.items, own.additionalProperties];
    return [...variants, ...members].some(allowsAnything);
  };
  return allowsAnything(root);
}
