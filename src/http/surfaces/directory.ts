import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import { isRecord } from '../../kernel/fields.ts';
import { endpointFor } from '../endpoint.ts';
import { errorDetails, type FamilyWording, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Endpoints for directories: called by their provisioning, which holds a fixed header. */
export const endpoint = endpointFor<ServiceAccountActor>();

/** The beginning of its paths. */
export const BASE_PATH = '/scim/v2';

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The `scimType` values of RFC 7644; other errors have none. */
const SCIM_TYPES = [
  'invalidFilter',
  'tooMany',
  'uniqueness',
  'mutability',
  'invalidSyntax',
  'invalidPath',
  'noTarget',
  'invalidValue',
  'invalidVers',
  'sensitive',
] as const;

const NO_CODE: FamilyWording = { code: '' };

/** SCIM 2.0, as RFC 7644 words it. */
export const surface: Surface = {
  name: 'directory',
  title: 'SCIM 2.0',
  description:
    'Users and groups as a directory keeps them: Entra, Okta, Google, Authentik. With an API key and its secret, `Bearer sa_…:SECRET`, or a service token.',
  credential: 'directory',
  bases: [BASE_PATH],
  challenge: () => 'Bearer realm="scim"',
  wordedAs: 'directory',
  families: {
    invalid: { code: 'invalidValue' },
    unauthenticated: NO_CODE,
    forbidden: NO_CODE,
    missing: NO_CODE,
    conflict: NO_CODE,
    too_large: NO_CODE,
    too_many: NO_CODE,
    malformed: { code: 'invalidSyntax' },
    unavailable: NO_CODE,
  },
  language: 'en',
  codeField: 'scimType',
  mediaType: 'application/scim+json',
  errorBody: z
    .object({
      schemas: z.array(z.literal(ERROR)),
      status: z.string().meta({ description: 'The status of the answer, as a text.', examples: ['404'] }),
      scimType: z.enum(SCIM_TYPES).optional(),
      detail: z.string(),
      details: errorDetails.optional().meta({ description: 'The same for programs, as elsewhere in this API.' }),
    })
    .meta({ id: 'DirectoryError' }),
  errorOf: ({ status, code, message, details }) => ({
    schemas: [ERROR],
    status: String(status),
    ...(code !== '' && { scimType: code }),
    detail: Array.isArray(details) ? [message, ...details.map(toSentence)].join(' ') : message,
    ...(details !== undefined && { details }),
  }),
  repeats: (shown) => {
    const { version, location } = getMeta(shown);
    return { ...(version && { ETag: version }), ...(location && { Location: location }) };
  },
  internalError: { code: '', message: INTERNAL_ERROR },
};

const toSentence = ({ field, message }: { field: string; message: string }): string => `${field}: ${message}.`;

/** The `meta` of a shown resource; empty where it has none. */
export function getMeta(shown: object): { version?: string; location?: string } {
  const { meta } = shown as { meta?: unknown };
  return isRecord(meta) ? meta : {};
}
