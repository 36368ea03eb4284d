import { makeGuards } from '../guard.ts';

const CACHED_PRINCIPAL_TESTS = ['test/http/one-hop.test.ts'];
const ACCESS_MODEL_TESTS = ['test/http/access-model.test.ts'];
const GUARDED_SESSION_TESTS = ['test/http/guarded-session.test.ts'];
const DEPENDENT_SESSION_TESTS = ['test/versions/dependent-session.test.ts'];
const DIRECTORY_TESTS = ['test/directory/races.directory.test.ts'];
const REHEARSAL_TESTS = ['test/policies/dry-run-session.test.ts'];
const DRY_RUN_TESTS = ['test/policies/dry-run.test.ts'];
const VERSION_TESTS = ['test/http/access-versions.test.ts'];
const WAITING_JOB_TESTS = ['test/http/waiting-jobs.test.ts'];

/** Guards that prevent an isolate from using outdated cached access of a principal. */
export const ACCESS_GUARDS = [
  ...makeGuards('src/http/authentication.ts', CACHED_PRINCIPAL_TESTS, [
    { text: 'cachedPrincipal.knownPrincipal.expiresAt > ctx.now() &&', title: 'API key expires' },
    {
      text: '(await presentedCredential.matchesPrincipal(cachedPrincipal.knownPrincipal))',
      without: 'true',
      title: 'signed with its secret key',
    },
    { text: 'gateResult.accessVersion !== null && ', tests: ACCESS_MODEL_TESTS },
    { text: ' && gateResult.accessVersion === cachedPrincipal.gateVersion', title: 'when its account is deactivated' },
    {
      text: 'cachePrincipal(credential, currentPrincipal, null)',
      without: 'cachePrincipal(credential, currentPrincipal, gateResult.accessVersion)',
      tests: ACCESS_MODEL_TESTS,
    },
    { text: 'if (nonce) throw replayUnknown().addCause(error);', title: 'refuses signed requests' },
  ]),
  ...makeGuards('src/http/request-checks.ts', CACHED_PRINCIPAL_TESTS, [
    {
      text: "if (!isAddressAllowed && identified.status === 'fulfilled') await identified.value.uncount();",
      title: 'takes back what it counted',
    },
  ]),
  ...makeGuards('src/http/request-checks.ts', WAITING_JOB_TESTS, [
    {
      in: 'recheckRequest',
      text: 'await authorize(contract, recheckedContext, (name) => request.param(name));',
      title: 'follows a Deny of the permission',
    },
  ]),
  ...makeGuards('src/http/mount.ts', WAITING_JOB_TESTS, [
    {
      text: 'await recheckRequest({ ...requestToRecheck, ctx: context })',
      without: 'call.ctx',
      title: 'follows the end of the session',
    },
  ]),
  ...makeGuards(
    'src/kernel/members.ts',
    ['test/http/unknown-members.test.ts'],
    [
      {
        text: 'Object.hasOwn(members, name) ? members[name] : undefined',
        without: 'members[name]',
        title: 'JavaScript',
      },
    ],
  ),
  ...makeGuards(
    'src/http/unknown-members.ts',
    ['test/http/unknown-members.test.ts'],
    [
      { text: 'await authorize(contract, ctx, (name) => params[name]);', title: 'if the caller may not read it' },
      {
        text: 'counterpartObjects.some((counterpart) => areEqualValues(value, counterpart[name], isVolatile))',
        without: 'true',
        title: 'is refused with a changed field',
      },
    ],
  ),
  ...makeGuards(
    'src/http/waiting.ts',
    ['test/http/waiting.test.ts'],
    [{ text: '  await releaseConnections();\n', title: 'releases its connections' }],
  ),
  ...makeGuards('src/db/guarded-session.ts', GUARDED_SESSION_TESTS, [
    { text: 'touchesAccess(sql) ? changeStatement(statement, markStatement) : statement', without: 'statement' },
    { text: 'Object.assign(statement, { [name]: refuse });', without: 'void name;' },
    { text: 'changeStatement(bindValues(...boundValues), change, boundValues)', without: 'bindValues(...boundValues)' },
    {
      text: "throw new Error('This changes access: use `ctx.changeAccess`.');",
      without: 'return session.batch(statements);',
    },
    { text: "unixepoch('subsec') * 1000 > ?", without: "unixepoch('subsec') * 0 > ?" },
    { text: 'announcedChanges.filter((announcedChange) => announcedChange !== change)', without: 'announcedChanges' },
    { text: 'announcedChange !== change', without: 'announcedChange.deadline !== deadline' },
  ]),
  ...makeGuards('src/db/dependent-session.ts', DEPENDENT_SESSION_TESTS, [
    { text: 'makeUnchangedCheck(read)', without: "{ sql: 'select 1', values: [] }" },
    { text: 'reads: await dependency.readAgain()', without: 'reads: dependency.reads' },
    { text: 'areSameRows(reads, nextReads) ? { reads: nextReads, readAgain } : null', without: 'null' },
    {
      text: "if (!recordedReads && isWrite) refuseOutsideBatch(statement, 'This depends on what was read: use `commit`.');",
      without: '',
    },
    { text: 'query && !isWriteStatement(query.sql)', without: 'query' },
    {
      text: 'outerDependency ? combineDependencies(outerDependency, on) : on',
      without: 'on',
      tests: DIRECTORY_TESTS,
      title: 'for a version',
    },
    {
      text: '[...firstDependency.reads, ...otherDependency.reads]',
      without: '[...firstDependency.reads]',
      tests: DIRECTORY_TESTS,
      title: 'for a version',
    },
  ]),
  ...makeGuards('src/access/grants.ts', DIRECTORY_TESTS, [
    {
      in: 'writeWithoutEscalation',
      text: 'runDependentWrite(db, { reads: await checkAccessSources(), readAgain: checkAccessSources }, write)',
      without: 'checkAccessSources().then(write)',
      title: 'is not given to somebody who meanwhile',
    },
  ]),
  ...makeGuards('src/db/dry-run-session.ts', REHEARSAL_TESTS, [
    { text: ', { sql: FAILING_SQL, values: [] }', title: 'should roll it back does not fail' },
    { text: "json_extract('{}', ", without: 'coalesce(null, ', title: 'changes nothing' },
    {
      text: "if (isWriteStatement(sql)) refuseOutsideBatch(statement, 'What is rehearsed is written by `commit`.');",
      without: '',
      title: 'is refused without `commit`',
    },
    {
      text: "if (batch.length < statements.length) throw new Error('What is rehearsed is prepared within the rehearsal.');",
      title: 'prepared before',
    },
  ]),
  ...makeGuards('src/http/idempotency.ts', DRY_RUN_TESTS, [
    { in: 'readKeyedRequest', text: ' || isDryRun(c.req, contract)', title: 'ignores an idempotency key' },
  ]),
  ...makeGuards('src/db/dependent-session.ts', DEPENDENT_SESSION_TESTS, [
    { text: 'exists (select * from now_counted except select * from was_counted)', without: 'false' },
    { text: 'or exists (select * from was_counted except select * from now_counted)' },
    { text: 'exists (${sql})', without: 'false' },
  ]),
  ...makeGuards(
    'src/http/versions.ts',
    ['test/versions/identity.test.ts'],
    [{ text: 'throw preconditionFailed();', without: '{}' }],
  ),
  ...makeGuards('src/objects/access-versions.ts', VERSION_TESTS, [
    { text: "affected === 'everybody' || affected.includes", without: 'affected.includes' },
    { text: ' || affected.includes(principal)' },
    { text: 'until <= now', without: 'false' },
    { text: ' WHERE id = ?', without: ' WHERE ? IS NOT NULL' },
    { text: '(affectsEverybody)', without: '(false)' },
    { text: ' || this.#versions.size + affectedPrincipals.length > MAX_PRINCIPALS' },
    { text: 'this.#versions.size + affectedPrincipals.length', without: 'affectedPrincipals.length' },
    { text: "if (principal === 'epoch') this.#epoch = String(version);\n      else " },
    { text: "if (this.#epoch !== '') return;" },
    { text: 'this.#epoch = crypto.randomUUID();' },
    { text: 'this.#renew(affected);' },
  ]),
  ...makeGuards('src/objects/change-access.ts', CACHED_PRINCIPAL_TESTS, [
    {
      text: 'principals.length === 0',
      without: 'false',
      tests: ['test/http/guarded-session.test.ts'],
      title: 'Durable Object',
    },
    { text: 'throw accessNotChanged().addCause(error);', title: 'cannot be notified of a change' },
    { text: 'error instanceof Failure', without: 'true', title: 'as long as its outcome is unknown' },
    { text: 'if (error instanceof Failure) await end();', title: 'again when it was refused' },
    { text: 'await end();\n    return', without: 'return', tests: ACCESS_MODEL_TESTS },
  ]),
  ...makeGuards('src/db/last-uses.ts', CACHED_PRINCIPAL_TESTS, [
    { text: 'max(coalesce(last_used_at, 0), ', without: 'max(0, ', title: 'no last use earlier than the recorded' },
    { text: ' and ${table.companyId} = used.company_id', title: 'no last use earlier than the recorded' },
  ]),
];
