import { type CloudflareAccount, CloudflareApiError, type Zone } from '../cloudflare.ts';
import { type Environment, listWarnings } from '../environments.ts';
import { Problem } from '../problem.ts';
import { type Findings, makeNote, makeProblem, NO_FINDINGS } from './findings.ts';
import { checkNeon } from './neon.ts';

/** Cloudflare's error code for an account without R2, which has to be enabled by hand once. */
const R2_DISABLED_CODE = 10042;

/** Largest request in megabytes that a zone accepts, by the zone's plan. */
const MAX_BODY_MB: Record<string, number> = { free: 100, pro: 100, business: 200, enterprise: 500 };
/** Largest upload (`src/modules/uploads/failures.ts`) in megabytes, with the form's overhead. */
const MAX_UPLOAD_MB = 105;

/**
 * Asks all services that the system depends on whether it would work with them, without creating anything.
 * @param env the environment variables with keys that are not generated
 * @returns notes
 * @throws Problem with everything that has to be done first
 */
export async function checkServices(
  environment: Environment,
  account: CloudflareAccount,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const { problems, notes }: Findings = {
    problems: [],
    notes: listWarnings(environment).map((it) => `Warning: ${it}`),
  };
  const checks = [checkR2, checkQueues, checkAddress, checkMail];
  // Awaited together: one that failed while an earlier one still ran would end the process as an unhandled rejection.
  const allFindings = await Promise.all([
    ...checks.map((check) => check(environment, account)),
    checkNeon(environment, env.NEON_API_KEY),
    checkModel(environment, env.AI_API_KEY),
  ]);
  for (const findings of allFindings) {
    problems.push(...findings.problems);
    notes.push(...findings.notes);
  }
  if (problems.length === 0) return notes;
  throw new Problem(['Before anything is made:', ...problems.map((problem) => `- ${problem}`)].join('\n'));
}

/** Turns a refusal by Cloudflare into advice for the operator. */
async function adviseOnRefusal(
  runCheck: () => Promise<Findings>,
  makeAdvice: (refusal: CloudflareApiError) => string,
): Promise<Findings> {
  return runCheck().catch((error: unknown) => {
    if (error instanceof CloudflareApiError) return makeProblem(`${makeAdvice(error)} (${error.message})`);
    throw error;
  });
}

const checkR2 = (_: Environment, account: CloudflareAccount): Promise<Findings> =>
  adviseOnRefusal(
    async () => {
      await account.listBucketNames();
      return NO_FINDINGS;
    },
    ({ errorCodes }) =>
      errorCodes.includes(R2_DISABLED_CODE)
        ? 'R2 is not switched on: open R2 in the dashboard of the account once, and subscribe.'
        : 'R2 cannot be used: let CLOUDFLARE_API_TOKEN edit Workers R2 Storage.',
  );

const checkQueues = (_: Environment, account: CloudflareAccount): Promise<Findings> =>
  adviseOnRefusal(
    async () => {
      await account.listQueueNames();
      return NO_FINDINGS;
    },
    () => 'Queues cannot be used: let CLOUDFLARE_API_TOKEN edit Queues, and see that the account has Workers Paid.',
  );

/** Checks the configured domain, and the size of requests that its zone accepts. */
async function checkAddress({ settings: { domain } }: Environment, account: CloudflareAccount): Promise<Findings> {
  if (domain === null) return makeNote(checkBodyLimit('an address below workers.dev', MAX_BODY_MB.free as number));
  return adviseOnRefusal(
    async () => {
      const zone = await account.findZone(domain);
      if (!zone) return makeProblem(makeNoZoneProblem('"domain"', domain));
      if (zone.status !== 'active') return makeProblem(makeInactiveProblem(zone));
      const limit = MAX_BODY_MB[zone.plan] ?? (MAX_BODY_MB.free as number);
      return limit < MAX_UPLOAD_MB
        ? makeNote(checkBodyLimit(`the zone ${zone.name} (plan ${zone.plan})`, limit))
        : NO_FINDINGS;
    },
    () => `The zone of ${domain} cannot be looked at: let CLOUDFLARE_API_TOKEN read Zone.`,
  );
}

const checkBodyLimit = (place: string, megabytes: number): string =>
  `${place} lets bodies of ${megabytes} MB through: of an upload's 100 MiB about 95 arrive, more is Cloudflare's 413; ` +
  'a zone on Business takes 200 MB.';

/** Checks that mail comes from a domain that is set up for Email Sending, unless another service sends it. */
async function checkMail({ vars }: Environment, account: CloudflareAccount): Promise<Findings> {
  const from = vars.MAIL_FROM ?? '';
  const domain = /@([^\s>@]+)>?\s*$/.exec(from)?.[1]?.toLowerCase();
  if (!domain)
    return makeProblem(`MAIL_FROM is "${from}": give it an address, such as Console <no-reply@your.domain>.`);
  const provider = vars.MAIL_PROVIDER || 'cloudflare';
  if (provider !== 'cloudflare')
    return makeNote(`Mail from ${domain} is sent by ${provider}, which needs MAIL_API_KEY.`);
  const enableAdvice = `have Cloudflare send its mail: npx wrangler email sending enable ${domain}`;
  return adviseOnRefusal(
    async () => {
      const zone = await account.findZone(domain);
      if (!zone) return makeProblem(makeNoZoneProblem('MAIL_FROM', domain));
      if (zone.status !== 'active') return makeProblem(makeInactiveProblem(zone));
      const sendingDomains = await account.listSendingDomains(zone.id);
      const sendingDomain = sendingDomains.find(
        ({ name }) => name === domain || (name.startsWith('*.') && isSubdomain(domain, name)),
      );
      if (!sendingDomain) return makeProblem(`No mail is sent from ${domain} yet: ${enableAdvice}`);
      return sendingDomain.enabled
        ? NO_FINDINGS
        : makeProblem(`Mail from ${domain} waits for its DNS records: npx wrangler email sending dns get ${domain}`);
    },
    () => `Whether mail is sent from ${domain} cannot be seen: let CLOUDFLARE_API_TOKEN read Zone and Email Sending.`,
  );
}

const isSubdomain = (domain: string, wildcard: string): boolean => domain.endsWith(wildcard.slice(1));

const makeNoZoneProblem = (origin: string, domain: string): string =>
  `${origin} is at ${domain}, which is in no zone of the account that the token sees: add the domain to the account, let ` +
  'CLOUDFLARE_API_TOKEN read Zone, or choose another in operations/environments.json.';

const makeInactiveProblem = ({ name, status }: Zone): string =>
  `The zone ${name} is ${status}: have its registrar name Cloudflare's name servers, and wait until it is active.`;

/** Checks the model provider; only a refused key is a problem: not every provider lists its models. */
async function checkModel({ vars }: Environment, key: string | undefined): Promise<Findings> {
  if (!key) return NO_FINDINGS;
  const baseUrl = vars.AI_BASE_URL ?? 'https://api.openai.com/v1';
  const answer = await fetch(`${baseUrl}/models`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(10_000),
  }).catch((error: Error) => error);
  if (answer instanceof Error) return makeNote(`The model at ${baseUrl} did not answer (${answer.message}).`);
  await answer.body?.cancel();
  const isRefused = answer.status === 401 || answer.status === 403;
  return isRefused
    ? makeProblem(`The model at ${baseUrl} refuses AI_API_KEY with ${answer.status}: set the right one.`)
    : NO_FINDINGS;
}
