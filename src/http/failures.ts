import { accessDenied, administratorsOnly, invalidToken, peopleOnly } from '../access/failures.ts';
import { accessNotChanged } from '../db/failures.ts';
import { defineFailure, type FailureType, invalid, type SurfaceName } from '../kernel/failure.ts';
import { actionOf, type Contract, type RouteAccess } from './endpoint.ts';
import type { Credential } from './surface.ts';

export const malformedJson = defineFailure('request.malformed_json', {
  kind: 'malformed',
  detail: { message: 'The body is not valid JSON.' },
  says: {
    organization: 'BadRequest',
    console: 'INVALID_JSON',
    sharing: 'INVALID_JSON',
    'managed-tables': { message: 'O corpo da requisição não é um JSON válido.' },
  },
});

/** The words of a body that no handler can make anything of; `portuguese` is the sentence of managed tables. */
const badRequest = (portuguese: string) => ({
  organization: 'BadRequest',
  console: 'BAD_REQUEST',
  sharing: 'BAD_REQUEST',
  'managed-tables': { message: portuguese },
});

export const notJson = defineFailure('request.not_json', {
  kind: 'malformed',
  detail: { message: 'Send the body as JSON, with Content-Type: application/json.' },
  says: badRequest('Envie o corpo como JSON, com Content-Type: application/json.'),
});

export const tooDeep = defineFailure('request.too_deep', {
  kind: 'malformed',
  describes: 'The body is nested too deeply.',
  detail: (levels: number) => ({ message: `The body is nested more than ${levels} levels deep.` }),
  says: badRequest('O corpo da requisição tem níveis demais de listas e objetos aninhados.'),
});

export const tooManyValues = defineFailure('request.too_many_values', {
  kind: 'malformed',
  describes: 'The body holds too many values.',
  detail: (signs: number) => ({ message: `The body has more than ${signs} commas and opening brackets.` }),
  says: badRequest('O corpo da requisição tem valores demais.'),
});

export const tooManyNames = defineFailure('request.too_many_names', {
  kind: 'malformed',
  describes: 'The members of the body have too many different names.',
  detail: (names: number) => ({ message: `The members of the body have more than ${names} different names.` }),
  says: badRequest('O corpo da requisição tem nomes de campos demais.'),
});

export const bodyTooLarge = defineFailure('request.too_large', {
  kind: 'too_large',
  describes: 'The body is larger than this route accepts.',
  detail: (limit: number) => ({ message: `The body is larger than ${limit} bytes.`, limit }),
  says: {
    organization: 'PayloadTooLarge',
    console: 'PAYLOAD_TOO_LARGE',
    sharing: 'PAYLOAD_TOO_LARGE',
    'managed-tables': { message: 'O corpo da requisição excede o tamanho permitido.' },
  },
});

export const preconditionFailed = defineFailure('request.other_version', {
  kind: 'conflict',
  detail: {
    message:
      'The resource has changed since it was read: `If-Match` names another version. Nothing was changed. Read it again, then repeat the change.',
    field: 'If-Match',
  },
  says: {
    organization: { status: 412, code: 'PreconditionFailed' },
    console: { status: 412, code: 'PRECONDITION_FAILED' },
    sharing: { status: 412, code: 'PRECONDITION_FAILED' },
    'managed-tables': {
      status: 412,
      code: 'PRECONDITION_FAILED',
      message:
        'O recurso mudou desde que foi lido: `If-Match` indica outra versão. Nada foi alterado. Leia-o novamente.',
    },
  },
});

export const wrongMethod = defineFailure('request.wrong_method', {
  kind: 'missing',
  describes: 'This method is not available on this route.',
  detail: (allowed: string[]) => ({ allowed }),
  says: {
    organization: { status: 405, code: 'MethodNotAllowed' },
    console: { status: 405, code: 'METHOD_NOT_ALLOWED' },
    sharing: { status: 405, code: 'METHOD_NOT_ALLOWED' },
    'managed-tables': { status: 405, message: 'Método não permitido nesta rota.' },
  },
});

export const rateLimitExceeded = defineFailure('rate_limit.exceeded', {
  kind: 'too_many',
  describes: 'Too many requests.',
  detail: (retryAfter: number) => ({ retryAfter }),
  says: {
    organization: 'RateLimitExceeded',
    console: 'RateLimitExceeded',
    sharing: 'RateLimitExceeded',
    'managed-tables': 'RateLimitExceeded',
  },
});

/** Every surface says what it says of anything of the kind. */
const IN_WORDS_OF_FAMILY = { organization: {}, console: {}, sharing: {}, 'managed-tables': {} };

/** The gate that remembers nonces cannot be asked. */
export const replayUnknown = defineFailure('signature.replay_unknown', {
  kind: 'unavailable',
  detail: {
    message:
      'The server cannot check at the moment whether this request was sent before. Sign it again with a new nonce and resend it.',
    retryAfter: 5,
  },
  says: IN_WORDS_OF_FAMILY,
});

export const idempotencyKeyReused = defineFailure('idempotency.key_reused', {
  kind: 'invalid',
  detail: {
    field: 'Idempotency-Key',
    message: 'This idempotency key was already used for another request. Use a new key.',
  },
  says: {
    organization: 'IdempotencyKeyReused',
    console: 'IDEMPOTENCY_KEY_REUSED',
    sharing: 'IDEMPOTENCY_KEY_REUSED',
    'managed-tables': {
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: 'Esta chave de idempotência já foi usada em outra requisição. Use uma nova chave.',
    },
  },
});

export const idempotencyKeyInUse = defineFailure('idempotency.key_in_use', {
  kind: 'conflict',
  describes: 'The first request under this idempotency key is still at work: try again after `Retry-After` seconds.',
  detail: (retryAfter: number) => ({
    field: 'Idempotency-Key',
    message: 'The first request under this idempotency key is still at work. Send the request again later.',
    retryAfter,
  }),
  says: {
    organization: 'IdempotencyKeyInUse',
    console: 'IDEMPOTENCY_KEY_IN_USE',
    sharing: 'IDEMPOTENCY_KEY_IN_USE',
    'managed-tables': {
      code: 'IDEMPOTENCY_KEY_IN_USE',
      message:
        'A primeira requisição com esta chave de idempotência ainda está em andamento. Tente novamente em instantes.',
    },
  },
});

export const idempotencyAccessChanged = defineFailure('idempotency.access_changed', {
  kind: 'conflict',
  detail: {
    field: 'Idempotency-Key',
    message:
      'This request was already carried out. What you may do has changed since, so its answer is not shown again. Nothing was done.',
  },
  says: {
    organization: 'IdempotencyAccessChanged',
    console: 'IDEMPOTENCY_ACCESS_CHANGED',
    sharing: 'IDEMPOTENCY_ACCESS_CHANGED',
    'managed-tables': {
      code: 'IDEMPOTENCY_ACCESS_CHANGED',
      message:
        'Esta requisição já foi executada. Suas permissões mudaram desde então e a resposta não é mostrada de novo. Nada foi feito.',
    },
  },
});

export const idempotencyAnswerTooLarge = defineFailure('idempotency.answer_too_large', {
  kind: 'conflict',
  detail: {
    field: 'Idempotency-Key',
    message: 'This request was already carried out. Its answer was not kept, usually because it was too large.',
  },
  says: {
    organization: 'IdempotencyAnswerTooLarge',
    console: 'IDEMPOTENCY_ANSWER_TOO_LARGE',
    sharing: 'IDEMPOTENCY_ANSWER_TOO_LARGE',
    'managed-tables': {
      code: 'IDEMPOTENCY_ANSWER_TOO_LARGE',
      message: 'Esta requisição já foi executada. A resposta era grande demais para ser repetida.',
    },
  },
});

/** The place that remembers idempotency keys cannot be asked. */
export const repetitionUnknown = defineFailure('idempotency.unknown', {
  kind: 'unavailable',
  detail: {
    message:
      'The server cannot check at the moment whether this request was made before. Send it again with the same key.',
    retryAfter: 5,
  },
  says: IN_WORDS_OF_FAMILY,
});

/** What every route with such a declaration can answer, besides the failures that its contract lists. */
export function impliedFailures(contract: Contract, surfaceCredential: Credential): FailureType<SurfaceName>[] {
  const { access, body, query, openQuery, only } = contract;
  const credential = contract.credential ?? surfaceCredential;
  const isSigned = needsCredential(access) && (credential === 'signature' || credential === 'machine');
  return [
    ...(body ? [malformedJson, notJson, tooDeep, tooManyValues, tooManyNames] : []),
    ...(body || isSigned ? [bodyTooLarge] : []),
    ...(isSigned ? [replayUnknown] : []),
    ...(contract.method === 'get' ? [] : [accessNotChanged]),
    ...(takesIdempotencyKey(contract)
      ? [
          idempotencyKeyReused,
          idempotencyKeyInUse,
          idempotencyAccessChanged,
          idempotencyAnswerTooLarge,
          repetitionUnknown,
        ]
      : []),
    ...(body || query || !openQuery || takesIdempotencyKey(contract) ? [invalid] : []),
    ...(needsCredential(access) ? [invalidToken] : []),
    ...(only === 'people' ? [peopleOnly] : []),
    ...(asksForAction(access) ? [accessDenied] : []),
    ...(access === 'administrator' || only === 'administrators' ? [administratorsOnly] : []),
  ];
}

/** Whether its callers may say, by an idempotency key, that a request is to be done once. */
export const takesIdempotencyKey = ({ method, access, safe }: Contract): boolean =>
  method === 'post' &&
  !safe &&
  (needsCredential(access) || access === 'optional' || access === 'pending') &&
  access !== 'operator';

const needsCredential = (access: RouteAccess): boolean =>
  access !== 'public' &&
  access !== 'optional' &&
  access !== 'pending' &&
  !(typeof access === 'object' && 'token' in access);

const asksForAction = (access: RouteAccess): boolean =>
  actionOf(access) !== null || (typeof access === 'object' && 'decidedBy' in access);
