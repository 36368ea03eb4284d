import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { companyNotFound } from '../companies/service.ts';
import { reauthenticationRequired, tooManyAttempts, wrongCredentials, wrongSecondFactor } from '../sign-in/failures.ts';
import { companySlugField, makeReauthenticationBody, REAUTHENTICATION_DESCRIPTION } from '../sign-in/fields.ts';
import { signInFailures, ssoRequired } from '../sign-in/service.ts';
import { loginResultView, viewStartedSession } from '../sign-in/views.ts';
import { invalidPasskey, passkeyNotFound, tooManyPasskeys } from './failures.ts';
import {
  addPasskey,
  beginAuthentication,
  beginRegistration,
  changePasskey,
  getOwnPasskey,
  listOwnPasskeys,
  logInWithPasskey,
  removePasskey,
} from './service.ts';
import {
  authenticationResponse,
  creationOptionsView,
  passkeyName,
  passkeyView,
  registrationResponse,
  requestOptionsView,
  viewPasskey,
} from './views.ts';

const OWN_PASSKEY_ACCESS = { access: 'authenticated', only: 'people' } as const;
const CONSEQUENCES_NOTE = 'The caller is notified by email, and their other sessions end.';
const reauthenticationFailures = [
  wrongCredentials,
  wrongSecondFactor,
  reauthenticationRequired,
  tooManyAttempts,
] as const;

export const passkeyEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passkeys/registration-options',
      recordedAs: 'auth:passkeys_registration-options',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'getPasskeyRegistrationOptions',
      summary: 'Get options for a new passkey',
      description: `For \`PublicKeyCredential.parseCreationOptionsFromJSON\` and \`navigator.credentials.create\`, whose response POST /v1/auth/passkeys takes. The challenge works once, for five minutes. ${REAUTHENTICATION_DESCRIPTION}`,
      body: makeReauthenticationBody({}),
      returns: ok(creationOptionsView),
      fails: [tooManyPasskeys, ...reauthenticationFailures],
    },
    async ({ ctx, body }) => (await beginRegistration(ctx, body)) as z.input<typeof creationOptionsView>,
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passkeys',
      recordedAs: 'auth:passkeys',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'createPasskey',
      summary: 'Create a passkey',
      description: `Takes the response of \`navigator.credentials.create\` as \`toJSON\` writes it. A person has at most 20 passkeys. ${REAUTHENTICATION_DESCRIPTION}${CONSEQUENCES_NOTE}`,
      body: makeReauthenticationBody({ name: passkeyName, response: registrationResponse }),
      returns: created(passkeyView),
      fails: [invalidPasskey, tooManyPasskeys, ...reauthenticationFailures],
    },
    async ({ ctx, body }) =>
      viewPasskey(await addPasskey(ctx, { ...body, response: body.response as unknown as RegistrationResponseJSON })),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/passkeys',
      recordedAs: 'auth:passkeys',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'listPasskeys',
      summary: "List the caller's passkeys",
      description: 'The oldest first.',
      returns: ok(z.object({ records: z.array(passkeyView) })),
      fails: [],
    },
    async ({ ctx }) => ({ records: (await listOwnPasskeys(ctx)).map(viewPasskey) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/passkeys/{id}',
      recordedAs: 'auth:passkeys_{id}',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'getPasskey',
      summary: "Get one of the caller's passkeys",
      description: 'Its key is shown to nobody.',
      returns: ok(passkeyView),
      versionDeclaration: declareVersion('last_used_at'),
      fails: [passkeyNotFound],
    },
    async ({ ctx, params }) => viewPasskey(await getOwnPasskey(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/v1/auth/passkeys/{id}',
      recordedAs: 'auth:passkeys_{id}',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'updatePasskey',
      summary: "Update one of the caller's passkeys",
      description: `Changes its name; the authenticator keeps the name that it was given. ${CONSEQUENCES_NOTE} Nothing happens where it has this name.`,
      body: z.object({ name: passkeyName }),
      returns: ok(passkeyView),
      fails: [passkeyNotFound],
    },
    async ({ ctx, params, body }) => viewPasskey(await changePasskey(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/auth/passkeys/{id}',
      recordedAs: 'auth:passkeys_{id}',
      ...OWN_PASSKEY_ACCESS,
      operationId: 'deletePasskey',
      summary: "Delete one of the caller's passkeys",
      description: `It signs nobody in from then on; the authenticator keeps its part until the person deletes it there. ${REAUTHENTICATION_DESCRIPTION}${CONSEQUENCES_NOTE}`,
      body: makeReauthenticationBody({}),
      returns: noContent,
      fails: [passkeyNotFound, ...reauthenticationFailures],
    },
    ({ ctx, params, body }) => removePasskey(ctx, params.id, body),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passkeys/authentication-options',
      recordedAs: 'auth:passkeys_authentication-options',
      access: 'public',
      operationId: 'getPasskeySignInOptions',
      summary: 'Get options for a sign-in with a passkey',
      description:
        'For `PublicKeyCredential.parseRequestOptionsFromJSON` and `navigator.credentials.get`, whose response POST /v1/auth/passkeys/verify takes. They are alike for all companies and name nobody; the challenge works once, for five minutes.',
      body: z.object({ company_slug: companySlugField }),
      returns: ok(requestOptionsView),
      fails: [companyNotFound, ...signInFailures],
    },
    async ({ ctx, body }) => (await beginAuthentication(ctx, body.company_slug)) as z.input<typeof requestOptionsView>,
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/passkeys/verify',
      recordedAs: 'auth:passkeys_verify',
      access: 'public',
      operationId: 'signInWithPasskey',
      summary: 'Sign in with a passkey',
      description:
        'Takes the response of `navigator.credentials.get` as `toJSON` writes it. A passkey is two factors, so no other is asked for. Whatever is wrong with the response, the answer is the same.',
      body: z.object({ company_slug: companySlugField, response: authenticationResponse }),
      returns: ok(loginResultView),
      fails: [companyNotFound, invalidPasskey, ssoRequired, ...signInFailures],
    },
    async ({ ctx, body }) =>
      viewStartedSession(
        await logInWithPasskey(ctx, {
          companySlug: body.company_slug,
          response: body.response as unknown as AuthenticationResponseJSON,
        }),
      ),
  ),
];
