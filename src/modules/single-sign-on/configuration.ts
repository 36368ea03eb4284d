import { X509Certificate } from 'node:crypto';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { findUrlProblem, isLocalHostname } from '../../kernel/public-address.ts';
import { decrypt, encrypt, getNewestPrefix, reencrypt } from '../../platform/cipher.ts';
import { findTrustProblem } from '../../platform/openid.ts';
import { type Company, getActiveCompanyBySlug } from '../companies/service.ts';
import { prepareNoticesToAdministrators } from '../mails/service.ts';
import { ssoNotConfigured } from './failures.ts';
import { createOidcProtocol } from './oidc.ts';
import type { Protocol } from './protocol.ts';
import {
  type Configuration,
  deleteConfiguration,
  endPendingSignIns,
  type OidcSettings,
  putConfiguration,
  replaceClientSecret,
  type SamlSettings,
  selectConfiguration,
  selectConfigurationsUnderOlderKey,
} from './store.ts';

export type { Configuration };

/** What an administrator sends. Without a client secret, the one stored for the same issuer and client is kept. */
export interface ConfigurationInput {
  provider: OidcSettings | SamlSettings;
  clientSecret?: string;
  redirectUris: string[];
  jitProvisioning: boolean;
}

/** Makes the URLs that identify us to the identity provider of a company. */
export const makeServiceProvider = (ctx: Context, companySlug: string) => ({
  entityId: `${ctx.baseUrl}/v1/auth/sso/${companySlug}/metadata`,
  callbackUrl: `${ctx.baseUrl}/v1/auth/sso/${companySlug}/callback`,
});

/** Returns the configuration of a company. */
export async function readConfiguration(ctx: Context, companyId: string): Promise<Configuration> {
  const [configuration] = await selectConfiguration(ctx.db, companyId);
  if (!configuration) throw ssoNotConfigured();
  return configuration;
}

/** Reads a company and its configuration, by slug. */
export async function readCompanyAndConfiguration(
  ctx: Context,
  companySlug: string,
): Promise<{ company: Company; configuration: Configuration }> {
  const company = await getActiveCompanyBySlug(ctx, companySlug);
  return { company, configuration: await readConfiguration(ctx, company.id) };
}

/**
 * Configures the identity provider of the caller's company, in place of the previous one. Ends sign-ins in progress. Tries again
 * when the stored secret that is to be kept was replaced since it was read.
 */
export const putCompanyConfiguration = (ctx: PrincipalContext, input: ConfigurationInput): Promise<Configuration> =>
  retryOnConcurrentChange(async () => {
    const { companyId } = ctx.actor;
    const problems = findProblems(input, ctx.config.ALLOW_PRIVATE_ISSUERS);
    const clientSecret = await chooseSecret(ctx, input);
    if (input.provider.type === 'oidc' && clientSecret === null) {
      problems.push({ field: 'client_secret', message: 'is needed for a new issuer or client_id' });
    }
    if (problems.length > 0) throw invalidInput(problems);
    const now = ctx.now();
    const record = { ...input, companyId, clientSecret, createdAt: now, updatedAt: now };
    const notices = await prepareNoticesToAdministrators(ctx, 'sso_changed');
    const {
      configuration: [storedConfiguration],
    } = await commit(ctx.db, {
      configuration: putConfiguration(ctx.db, record, input.clientSecret === undefined),
      notices: notices.statements,
      pending: endPendingSignIns(ctx.db, companyId),
    });
    if (storedConfiguration) notices.send();
    return storedConfiguration;
  });

/** Deletes the configuration of the caller's company. */
export async function removeConfiguration(ctx: PrincipalContext): Promise<void> {
  const { companyId } = ctx.actor;
  await readConfiguration(ctx, companyId);
  const notices = await prepareNoticesToAdministrators(ctx, 'sso_removed');
  await commit(ctx.db, {
    configuration: deleteConfiguration(ctx.db, companyId),
    notices: notices.statements,
    pending: endPendingSignIns(ctx.db, companyId),
  });
  notices.send();
}

/** Creates the protocol for sign-ins with a company's identity provider. */
export async function createProtocol(ctx: Context, company: Company, configuration: Configuration): Promise<Protocol> {
  const { provider, clientSecret } = configuration;
  const serviceProvider = makeServiceProvider(ctx, company.slug);
  if (provider.type === 'saml')
    return (await loadSaml()).createSamlProtocol({ ...provider, ...serviceProvider, now: () => ctx.now() });
  if (clientSecret === null) throw new Error('An OpenID Connect configuration has no client secret.');
  return createOidcProtocol({
    ...provider,
    clientSecret: await decrypt(ctx.config.ENCRYPTION_KEYS, clientSecret, makeSecretContext(company.id)),
    callbackUrl: serviceProvider.callbackUrl,
    allowPrivateHosts: ctx.config.ALLOW_PRIVATE_ISSUERS,
  });
}

/** Chooses the encrypted client secret of the new configuration: the given or the stored one; null when there is none. */
async function chooseSecret(
  ctx: PrincipalContext,
  { provider, clientSecret }: ConfigurationInput,
): Promise<string | null> {
  const { companyId } = ctx.actor;
  if (provider.type === 'saml') return null;
  if (clientSecret !== undefined) {
    return encrypt(ctx.config.ENCRYPTION_KEYS, clientSecret, makeSecretContext(companyId));
  }
  const [knownConfiguration] = await selectConfiguration(ctx.db, companyId);
  // Not for another issuer or client: a new configuration must not send the old secret elsewhere.
  const isSameClient =
    knownConfiguration?.provider.type === 'oidc' &&
    knownConfiguration.provider.issuer === provider.issuer &&
    knownConfiguration.provider.clientId === provider.clientId;
  return isSameClient ? knownConfiguration.clientSecret : null;
}

/** The number of configurations whose secrets one scheduled run encrypts again. */
const REENCRYPTION_BATCH_SIZE = 500;

/** Encrypts client secrets again under the newest key. For the scheduled run. @returns how many */
export async function reencryptClientSecrets(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const prefix = getNewestPrefix(keys);
  const replaceStatements = [];
  for (const configuration of await selectConfigurationsUnderOlderKey(ctx.db, prefix, REENCRYPTION_BATCH_SIZE)) {
    const { companyId, clientSecret } = configuration;
    const newSecret = await reencrypt(keys, clientSecret, makeSecretContext(companyId));
    replaceStatements.push(replaceClientSecret(ctx.db, configuration, newSecret));
  }
  if (replaceStatements.length > 0) await commit(ctx.db, { replaced: replaceStatements });
  return replaceStatements.length;
}

/** Loads the SAML module on demand: its XML libraries take a tenth of a second. */
export const loadSaml = () => import('./saml.ts');

const makeSecretContext = (companyId: string) => `sso-client:${companyId}`;

function findProblems({ provider, redirectUris }: ConfigurationInput, allowPrivateHosts: boolean): FieldProblem[] {
  const checkAddress = (field: string, url: string) => ({ field, message: findUrlProblem(url, allowPrivateHosts) });
  const providerProblems =
    provider.type === 'oidc'
      ? [
          checkAddress('issuer', provider.issuer),
          { field: 'trust_email', message: findTrustProblem(provider.issuer, provider.trustEmail === true) },
        ]
      : [
          checkAddress('idp_sso_url', provider.idpSsoUrl),
          ...provider.idpCertificates.map((pem, index) => ({
            field: `idp_certificates.${index}`,
            message: findCertificateProblem(pem),
          })),
        ];
  const redirectUriProblems = redirectUris.map((uri, index) => ({
    field: `redirect_uris.${index}`,
    message: findRedirectUriProblem(uri, allowPrivateHosts),
  }));
  return [...providerProblems, ...redirectUriProblems].filter(
    (problem): problem is FieldProblem => problem.message !== null,
  );
}

/** Finds the problem of a redirect URI, to which browsers go with a code: it must be https, or plain http on the same machine. */
function findRedirectUriProblem(uri: string, allowPrivateHosts: boolean): string | null {
  if (uri === '') return 'must not be empty';
  if (!URL.canParse(uri)) return 'must be an absolute URL';
  const { protocol, hostname, hash, username, password } = new URL(uri);
  if (protocol !== 'https:' && !(protocol === 'http:' && (isLocalHostname(hostname) || allowPrivateHosts))) {
    return 'must be an https URL, or http on the same machine';
  }
  return hash !== '' || username !== '' || password !== '' ? 'must have no fragment, user name or password' : null;
}

/** The pattern of exactly one certificate: the parser would ignore any after the first. */
const SINGLE_CERTIFICATE_PATTERN = /^-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----$/;

const MIN_MODULUS_BITS = 2048;

/**
 * Finds the problem of a provider's certificate (PEM); null if there is none. Its dates are ignored: providers let the
 * certificates in their metadata expire, and replace them when the key changes.
 */
export function findCertificateProblem(pem: string): string | null {
  if (pem === '') return 'must not be empty';
  if (!SINGLE_CERTIFICATE_PATTERN.test(pem)) return 'must be one certificate in PEM form';
  try {
    const { publicKey } = new X509Certificate(pem);
    const bits = publicKey.asymmetricKeyDetails?.modulusLength;
    if (publicKey.asymmetricKeyType !== 'rsa') return 'must hold an RSA key';
    return bits !== undefined && bits < MIN_MODULUS_BITS
      ? `must hold a key of at least ${MIN_MODULUS_BITS} bits`
      : null;
  } catch {
    return 'must be one certificate in PEM form';
  }
}
