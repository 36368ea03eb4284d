import {
  accessDenied,
  accessTooComplex,
  administratorsOnly,
  clientsRefused,
  companySuspended,
  invalidToken,
  ownerOnly,
  peopleOnly,
} from '../access/failures.ts';
import { serviceAccountsOnly, signedRequestsOnly } from '../access/signature-failures.ts';
import { accessNotChanged } from '../db/failures.ts';
import { defineFailure, type FailureType, invalidInput, makeCodeWordings } from '../kernel/failure.ts';
import { acceptsOAuthClients, type Contract, getAction, type RouteAccess, takesNoBody } from './endpoint.ts';
import type { Credential } from './surface.ts';

export const malformedJson = defineFailure('request.malformed_json', 'malformed', {
  message: 'The body is not valid JSON.',
  portuguese: 'O corpo da requisição não é um JSON válido.',
  console: 'INVALID_JSON',
  'managed-tables': 'INVALID_JSON',
  sharing: 'INVALID_JSON',
});

export const notJson = defineFailure('request.not_json', 'malformed', {
  message: 'Send the body as JSON, with Content-Type: application/json.',
  portuguese: 'Envie o corpo como JSON, com Content-Type: application/json.',
});

export const tooDeep = defineFailure('request.too_deep', 'malformed', {
  message: 'The body is nested too deeply.',
  portuguese: 'O corpo da requisição tem níveis demais de listas e objetos aninhados.',
  detail: (maxDepth: number) => ({ message: `The body is nested more than ${maxDepth} levels deep.` }),
});

export const tooManyValues = defineFailure('request.too_many_values', 'malformed', {
  message: 'The body holds too many values.',
  portuguese: 'O corpo da requisição tem valores demais.',
  detail: (maxSigns: number) => ({ message: `The body has more than ${maxSigns} commas and opening brackets.` }),
});

export const tooManyNames = defineFailure('request.too_many_names', 'malformed', {
  message: 'The members of the body have too many different names.',
  portuguese: 'O corpo da requisição tem nomes de campos demais.',
  detail: (maxNames: number) => ({ message: `The members of the body have more than ${maxNames} different names.` }),
});

export const bodyTooLarge = defineFailure('request.too_large', 'too_large', {
  message: 'The body is larger than this route accepts.',
  detail: (limit: number) => ({ message: `The body is larger than ${limit} bytes.`, limit }),
});

export const preconditionFailed = defineFailure('request.other_version', 'conflict', {
  message:
    'The resource has changed since it was read: `If-Match` names another version. Nothing was changed. Read it again, then repeat the change.',
  portuguese:
    'O recurso mudou desde que foi lido: `If-Match` indica outra versão. Nada foi alterado. Leia-o novamente.',
  detail: { field: 'If-Match' },
  ...makeCodeWordings('PRECONDITION_FAILED', 412),
});

export const wrongMethod = defineFailure('request.wrong_method', 'missing', {
  message: 'This method is not available on this route.',
  portuguese: 'Método não permitido nesta rota.',
  detail: (allowedMethods: string[]) => ({ allowed: allowedMethods }),
  ...makeCodeWordings('METHOD_NOT_ALLOWED', 405),
});

export const rateLimitExceeded = defineFailure('rate_limit.exceeded', 'too_many', {
  message: 'Too many requests.',
  detail: (retryAfter: number) => ({ retryAfter }),
});

/** The gate, a Durable Object that stores nonces, did not respond. */
export const replayUnknown = defineFailure('signature.replay_unknown', 'unavailable', {
  message:
    'The server cannot check at the moment whether this request was sent before. Sign it again with a new nonce and resend it.',
  detail: { retryAfter: 5 },
});

export const idempotencyKeyReused = defineFailure('idempotency.key_reused', 'invalid', {
  message: 'This idempotency key was already used for another request. Use a new key.',
  portuguese: 'Esta chave de idempotência já foi usada em outra requisição. Use uma nova chave.',
  detail: { field: 'Idempotency-Key' },
  ...makeCodeWordings('IDEMPOTENCY_KEY_REUSED'),
});

export const idempotencyKeyInUse = defineFailure('idempotency.key_in_use', 'conflict', {
  message: 'The first request under this idempotency key is still at work: try again after `Retry-After` seconds.',
  portuguese:
    'A primeira requisição com esta chave de idempotência ainda está em andamento. Tente novamente em instantes.',
  detail: (retryAfter: number) => ({
    field: 'Idempotency-Key',
    message: 'The first request under this idempotency key is still at work. Send the request again later.',
    retryAfter,
  }),
  ...makeCodeWordings('IDEMPOTENCY_KEY_IN_USE'),
});

export const idempotencyAccessChanged = defineFailure('idempotency.access_changed', 'conflict', {
  message:
    'This request was already carried out. What you may do has changed since, so its answer is not shown again. Nothing was done.',
  portuguese:
    'Esta requisição já foi executada. Suas permissões mudaram desde então e a resposta não é mostrada de novo. Nada foi feito.',
  detail: { field: 'Idempotency-Key' },
  ...makeCodeWordings('IDEMPOTENCY_ACCESS_CHANGED'),
});

export const idempotencyAnswerTooLarge = defineFailure('idempotency.answer_too_large', 'conflict', {
  message: 'This request was already carried out. Its answer was not kept, usually because it was too large.',
  portuguese: 'Esta requisição já foi executada. A resposta era grande demais para ser repetida.',
  detail: { field: 'Idempotency-Key' },
  ...makeCodeWordings('IDEMPOTENCY_ANSWER_TOO_LARGE'),
});

/** The object that stores idempotency keys did not respond. */
export const repetitionUnknown = defineFailure('idempotency.unknown', 'unavailable', {
  message:
    'The server cannot check at the moment whether this request was made before. Send it again with the same key.',
  detail: { retryAfter: 5 },
});

/** Lists the failures that a route can answer by its declarations, in addition to those that its contract lists. */
export function listImpliedFailures(contract: Contract, surfaceCredential: Credential): FailureType[] {
  const { access, body, query, openQuery, only, administratorsWith } = contract;
  const credential = contract.credential ?? surfaceCredential;
  const isSigned = needsCredential(access) && (credential === 'signature' || credential === 'machine');
  return [
    ...(body ? [notJson] : []),
    ...(body || takesNoBody(contract) ? [malformedJson, tooDeep, tooManyValues, tooManyNames] : []),
    ...(body || takesNoBody(contract) || isSigned ? [bodyTooLarge] : []),
    ...(isSigned ? [replayUnknown] : []),
    ...(isSigned && credential === 'signature' && access !== 'operator' ? [signedRequestsOnly] : []),
    ...(isSigned && credential === 'machine' ? [serviceAccountsOnly] : []),
    ...(contract.method === 'get' ? [] : [accessNotChanged]),
    ...(contract.dryRun ? [accessTooComplex, invalidInput] : []),
    ...(takesIdempotencyKey(contract)
      ? [
          idempotencyKeyReused,
          idempotencyKeyInUse,
          idempotencyAccessChanged,
          idempotencyAnswerTooLarge,
          repetitionUnknown,
        ]
      : []),
    ...(body || query || !openQuery || takesIdempotencyKey(contract) ? [invalidInput] : []),
    ...(needsCredential(access) ? [invalidToken] : []),
    ...(access !== 'public' && access !== 'operator' ? [companySuspended] : []),
    ...(credential !== 'signature' && isForPrincipals(access) && !acceptsOAuthClients(contract)
      ? [clientsRefused]
      : []),
    ...(only === 'people' ? [peopleOnly] : []),
    ...(only === 'owner' ? [ownerOnly] : []),
    ...(requiresAction(access) || contract.unlessDenied ? [accessDenied] : []),
    ...(access === 'administrator' || only === 'administrators' || administratorsWith ? [administratorsOnly] : []),
  ];
}

/** Returns true if callers may send an idempotency key, so that a request is executed once. */
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

/** Returns true if the caller may be a principal. */
const isForPrincipals = (access: RouteAccess): boolean =>
  access === 'optional' || access === 'pending' || (access !== 'operator' && needsCredential(access));

const requiresAction = (access: RouteAccess): boolean =>
  getAction(access) !== null || (typeof access === 'object' && 'decidedBy' in access);
