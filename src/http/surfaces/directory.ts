import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import { isRecord } from '../../kernel/fields.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { errorDetailsSchema, type FamilyWording, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Declares an endpoint for directories: called by their provisioning, which sends a fixed header. */
export const endpoint = createEndpointFunction<ServiceAccountActor>();

/** Beginning of the surface's paths. */
export const BASE_PATH = '/scim/v2';

const ERROR_SCHEMA_URN = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** Values of `scimType` in RFC 7644; other errors have none. */
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

const CODELESS_WORDING: FamilyWording = { code: '' };

/** Surface of SCIM 2.0; failures are worded as in RFC 7644. */
export const surface: Surface = {
  name: 'directory',
  title: 'SCIM 2.0',
  description:
    'Users and groups as a directory keeps them: Entra, Okta, Google, Authentik. With an API key and its secret, `Bearer sa_…:SECRET`, or a service token.',
  credential: 'directory',
  basePaths: [BASE_PATH],
  formatChallenge: () => 'Bearer realm="scim"',
  wordedAs: 'directory',
  families: {
    invalid: { code: 'invalidValue' },
    unauthenticated: CODELESS_WORDING,
    forbidden: CODELESS_WORDING,
    missing: CODELESS_WORDING,
    conflict: CODELESS_WORDING,
    too_large: CODELESS_WORDING,
    too_many: CODELESS_WORDING,
    malformed: { code: 'invalidSyntax' },
    unavailable: CODELESS_WORDING,
  },
  defaultLanguage: 'en',
  codeField: 'scimType',
  mediaType: 'application/scim+json',
  errorBody: z
    .object({
      schemas: z.array(z.literal(ERROR_SCHEMA_URN)),
      status: z.string().meta({ description: 'The status of the answer, as a text.', examples: ['404'] }),
      scimType: z.enum(SCIM_TYPES).optional(),
      detail: z.string(),
      details: errorDetailsSchema.optional().meta({ description: 'The same for programs, as elsewhere in this API.' }),
    })
    .meta({ id: 'DirectoryError' }),
  makeErrorBody: ({ status, code, message, details }) => ({
    schemas: [ERROR_SCHEMA_URN],
    status: String(status),
    ...(code !== '' && { scimType: code }),
    detail: Array.isArray(details) ? [message, ...details.map(toSentence)].join(' ') : message,
    ...(details !== undefined && { details }),
  }),
  repeats: (answer) => {
    const { version, location } = getMeta(answer);
    return { ...(version && { ETag: version }), ...(location && { Location: location }) };
  },
  internalError: { code: '', message: INTERNAL_ERROR },
};

const toSentence = ({ field, message }: { field: string; message: string }): string => `${field}: ${message}.`;

/** Reads the `meta` of a shown resource; empty if it has none. */
export function getMeta(resource: object): { version?: string; location?: string } {
  const { meta } = resource as { meta?: unknown };
  return isRecord(meta) ? meta : {};
}
