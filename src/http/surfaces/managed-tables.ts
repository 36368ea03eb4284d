import { z } from 'zod';
import type { UserActor } from '../../context.ts';
import type { Failure } from '../../kernel/failure.ts';
import { endpointFor } from '../endpoint.ts';
import { detailsOf, STATUS, type Surface } from '../surface.ts';

export { list, listOf } from './console.ts';

/** Endpoints of managed tables: called by people with a session token, worded in Portuguese. */
export const endpoint = endpointFor<UserActor>();

type PortugueseWording = readonly [status: number, errorCode: string | null, sentence: string];

const REASONS: Record<string, PortugueseWording> = {
  'request.malformed_json': [400, null, 'O corpo da requisição não é um JSON válido.'],
  'request.unknown_route': [404, null, 'Rota não encontrada.'],
  'request.wrong_method': [405, null, 'Método não permitido nesta rota.'],
};

const KINDS: Record<Failure['kind'], string> = {
  invalid: 'Os dados enviados são inválidos.',
  unauthenticated: 'Token ausente, inválido ou expirado.',
  forbidden: 'Você não tem permissão para realizar esta ação.',
  missing: 'Recurso não encontrado.',
  conflict: 'A operação conflita com o estado atual do recurso.',
  too_large: 'O corpo da requisição excede o tamanho permitido.',
  too_many: 'Muitas requisições. Aguarde alguns segundos e tente novamente.',
  malformed: 'A requisição está malformada.',
  unavailable: 'Serviço temporariamente indisponível. Tente novamente em instantes.',
};

export const surface: Surface = {
  name: 'managed-tables',
  title: 'Managed tables',
  credential: 'bearer',
  errorBody: z
    .object({
      error: z.string().meta({ description: 'A sentence in Portuguese.', examples: ['Tabela não encontrada.'] }),
      error_code: z.string().optional(),
      details: z.unknown().optional(),
    })
    .meta({ id: 'ManagedTablesError' }),
  word(failure) {
    const [status, code, sentence] = REASONS[failure.reason] ?? [STATUS[failure.kind], null, KINDS[failure.kind]];
    const details = detailsOf(failure);
    return {
      status,
      body: { error: sentence, ...(code && { error_code: code }), ...(details !== undefined && { details }) },
    };
  },
  internalError: { error: 'Ocorreu um erro interno. Tente novamente em instantes.' },
};
