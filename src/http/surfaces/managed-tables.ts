import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import type { FailureKind, Wording } from '../../kernel/failure.ts';
import { endpointFor } from '../endpoint.ts';
import type { Surface } from '../surface.ts';

export { list, listOf } from './console.ts';

/** Endpoints of managed tables: called by people and programs with a token, worded in Portuguese. */
export const endpoint = endpointFor<Principal>();

const FAMILIES: Record<FailureKind, Wording> = {
  invalid: { message: 'Os dados enviados são inválidos.' },
  unauthenticated: { message: 'Token ausente, inválido ou expirado.' },
  forbidden: { message: 'Você não tem permissão para realizar esta ação.' },
  missing: { message: 'Recurso não encontrado.' },
  conflict: { message: 'A operação conflita com o estado atual do recurso.' },
  too_large: { message: 'O corpo da requisição excede o tamanho permitido.' },
  too_many: {},
  malformed: { message: 'A requisição está malformada.' },
  unavailable: { message: 'Serviço temporariamente indisponível. Tente novamente em instantes.' },
};

export const surface: Surface = {
  name: 'managed-tables',
  title: 'Managed tables',
  description:
    "Tables in the company's own PostgreSQL, and the uploads that fill them. With a session or service token; errors are worded in Portuguese.",
  credential: 'bearer',
  bases: ['/v1/managed-tables'],
  wordedAs: 'managed-tables',
  families: FAMILIES,
  tryAgainIn: (seconds) => `Tente novamente em ${seconds} ${seconds === 1 ? 'segundo' : 'segundos'}.`,
  codeField: 'error_code',
  errorBody: z
    .object({
      error: z.string().meta({ description: 'A sentence in Portuguese.', examples: ['Tabela não encontrada.'] }),
      error_code: z.string().optional(),
      details: z.unknown().optional(),
    })
    .meta({ id: 'ManagedTablesError' }),
  errorOf: ({ code, message, details }) => ({
    error: message,
    ...(code && { error_code: code }),
    ...(details !== undefined && { details }),
  }),
  internalError: { message: 'Ocorreu um erro interno. Tente novamente em instantes.' },
};
