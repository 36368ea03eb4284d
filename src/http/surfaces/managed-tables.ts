import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import type { FailureKind } from '../../kernel/failure.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { CONSOLE_FAMILIES, errorDetailsSchema, type FamilyWording, type Surface } from '../surface.ts';

export { makeListSchema as listOf, viewList } from './console.ts';

/** Declares an endpoint of managed tables, which people and programs call with a token; failures are worded in Portuguese. */
export const endpoint = createEndpointFunction<Principal>();

/** Portuguese sentences of the families of failures; the codes are those of the console. */
const FAMILY_SENTENCES: Record<FailureKind, string> = {
  invalid: 'Os dados enviados são inválidos.',
  unauthenticated: 'Token ausente, inválido ou expirado.',
  forbidden: 'Você não tem permissão para realizar esta ação.',
  missing: 'Recurso não encontrado.',
  conflict: 'A operação conflita com o estado atual do recurso.',
  too_large: 'O corpo da requisição excede o tamanho permitido.',
  too_many: 'Requisições demais.',
  malformed: 'A requisição está malformada.',
  unavailable: 'Serviço temporariamente indisponível. Tente novamente em instantes.',
};
const FAMILIES = Object.fromEntries(
  Object.entries(FAMILY_SENTENCES).map(([kind, message]) => [
    kind,
    { ...CONSOLE_FAMILIES[kind as FailureKind], message },
  ]),
) as Record<FailureKind, FamilyWording>;

export const surface: Surface = {
  name: 'managed-tables',
  title: 'Managed tables',
  description:
    "Tables in the company's own PostgreSQL, and the uploads that fill them. With a session or service token; errors are worded in Portuguese.",
  credential: 'bearer',
  basePaths: ['/v1/managed-tables'],
  formatChallenge: makeChallenge(''),
  wordedAs: 'managed-tables',
  families: FAMILIES,
  defaultLanguage: 'pt-BR',
  codeField: 'error_code',
  errorBody: z
    .object({
      error: z.string().meta({ description: 'A sentence in Portuguese.', examples: ['Tabela não encontrada.'] }),
      error_code: z.string(),
      message: z.string().meta({ description: 'The same, in the language that `Accept-Language` asks for.' }),
      details: errorDetailsSchema.optional(),
    })
    .meta({ id: 'ManagedTablesError' }),
  makeErrorBody: ({ code, message, ownMessage, details }) => ({
    error: ownMessage,
    error_code: code,
    message,
    ...(details !== undefined && { details }),
  }),
  internalError: { code: 'INTERNAL_ERROR', message: 'Ocorreu um erro interno. Tente novamente em instantes.' },
};
