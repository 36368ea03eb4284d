import { guardsOf } from '../guard.ts';

const CACHED_PRINCIPAL_TESTS = ['test/http/one-hop.test.ts'];
const ACCESS_MODEL_TESTS = ['test/http/access-model.test.ts'];
const GUARDED_SESSION_TESTS = ['test/http/guarded-session.test.ts'];
const DEPENDENT_SESSION_TESTS = ['test/versions/dependent-session.test.ts'];
const DIRECTORY_TESTS = ['test/directory/races.directory.test.ts'];
const REHEARSAL_TESTS = ['test/policies/rehearsal.test.ts'];
const DRY_RUN_TESTS = ['test/policies/dry-run.test.ts'];
const VERSION_TESTS = ['test/http/access-versions.test.ts'];
const WAITING_JOB_TESTS = ['test/http/waiting-jobs.test.ts'];

/** What keeps an isolate from letting somebody in by what it remembers of them. */
export const ACCESS_GUARDS = [
  ...guardsOf('src/http/authentication.ts', CACHED_PRINCIPAL_TESTS, [
    { text: 'remembered.known.expiresAt > ctx.now() && ', without: '', title: 'when its key expires' },
    { text: '(await presented.fits(remembered.known))', without: 'true', title: 'signed with its secret key' },
    { text: 'answer.access !== null && ', without: '', tests: ACCESS_MODEL_TESTS },
    { text: ' && answer.access === remembered.stamp', without: '', title: 'when its account is deactivated' },
    {
      text: 'cachePrincipal(credential, known, null)',
      without: 'cachePrincipal(credential, known, answer.access)',
      tests: ACCESS_MODEL_TESTS,
    },
    { text: 'if (nonce) throw replayUnknown().because(error);', without: '', title: 'refuses signed requests' },
  ]),
  ...guardsOf('src/http/request-checks.ts', CACHED_PRINCIPAL_TESTS, [
    {
      text: "if (!isAddressIn && identified.status === 'fulfilled') await identified.value.uncount();",
      without: '',
      title: 'takes back what it counted',
    },
  ]),
  ...guardsOf('src/http/request-checks.ts', WAITING_JOB_TESTS, [
    {
      in: 'recheckRequest',
      text: 'await authorize(contract, checked, (name) => request.param(name));',
      without: '',
      title: 'follows a Deny of the permission',
    },
  ]),
  ...guardsOf('src/http/mount.ts', WAITING_JOB_TESTS, [
    {
      text: 'await recheckRequest({ ...returning, ctx: context })',
      without: 'call.ctx',
      title: 'follows the end of the session',
    },
  ]),
  ...guardsOf(
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
  ...guardsOf(
    'src/http/unknown-members.ts',
    ['test/http/unknown-members.test.ts'],
    [
      {
        text: 'await authorize(contract, ctx, (name) => params[name]);',
        without: '',
        title: 'if the caller may not read it',
      },
      {
        text: 'within.some((each) => isSame(value, each[name], moves))',
        without: 'true',
        title: 'is refused with a changed field',
      },
    ],
  ),
  ...guardsOf(
    'src/http/waiting.ts',
    ['test/http/waiting.test.ts'],
    [{ text: '  await release();\n', without: '', title: 'releases its connections' }],
  ),
  ...guardsOf('src/db/guarded-session.ts', GUARDED_SESSION_TESTS, [
    { text: 'touchesAccess(sql) ? mark(statement) : statement', without: 'statement' },
    { text: 'Object.assign(statement, { [name]: refuseAlone });', without: 'void name;' },
    { text: 'mark(bind(...values))', without: 'bind(...values)' },
    {
      text: "throw new Error('This changes access: use `ctx.changeAccess`.');",
      without: 'return session.batch(statements);',
    },
    { text: "unixepoch('subsec') * 1000 > ?", without: "unixepoch('subsec') * 0 > ?" },
    { text: 'announced.filter((each) => each !== change)', without: 'announced' },
    { text: 'each !== change', without: 'each.deadline !== deadline' },
  ]),
  ...guardsOf('src/db/dependent-session.ts', DEPENDENT_SESSION_TESTS, [
    { text: 'failUnlessUnchanged(read)', without: "{ sql: 'select 1', values: [] }" },
    { text: 'reads: await dependency.renew()', without: 'reads: dependency.reads' },
    { text: 'areSameRows(reads, next) ? { reads: next, renew } : null', without: 'null' },
    { text: '{ [name]: refuseAlone }', without: '{}' },
    { text: 'query && !isWriteStatement(query.sql)', without: 'query' },
    {
      text: 'around ? combineDependencies(around, on) : on',
      without: 'on',
      tests: DIRECTORY_TESTS,
      title: 'for a version',
    },
    {
      text: '[...one.reads, ...other.reads]',
      without: '[...one.reads]',
      tests: DIRECTORY_TESTS,
      title: 'for a version',
    },
  ]),
  ...guardsOf('src/access/grants.ts', DIRECTORY_TESTS, [
    {
      in: 'writeWithoutEscalation',
      text: 'runDependentWrite(db, { reads: await renew(), renew }, write)',
      without: 'renew().then(write)',
      title: 'is not given to somebody who meanwhile',
    },
  ]),
  ...guardsOf('src/db/rehearsing-session.ts', REHEARSAL_TESTS, [
    { text: ', { sql: FAILING_SQL, values: [] }', without: '', title: 'should roll it back does not fail' },
    { text: "json_extract('{}', ", without: 'coalesce(null, ', title: 'changes nothing' },
    { text: '{ [name]: refuseAlone }', without: '{}', title: 'is refused outside of a commit' },
    {
      text: "if (batch.length < statements.length) throw new Error('What is rehearsed is prepared within the rehearsal.');",
      without: '',
      title: 'prepared before',
    },
  ]),
  ...guardsOf('src/http/idempotency.ts', DRY_RUN_TESTS, [
    {
      in: 'readKeyedRequest',
      text: ' || isDryRun(c.req, contract)',
      without: '',
      title: 'ignores an idempotency key',
    },
  ]),
  ...guardsOf('src/db/read-sets.ts', DEPENDENT_SESSION_TESTS, [
    { text: 'exists (select * from now_counted except select * from was_counted)', without: 'false' },
    { text: 'or exists (select * from was_counted except select * from now_counted)', without: '' },
    { text: 'exists (${sql})', without: 'false' },
  ]),
  ...guardsOf(
    'src/http/versions.ts',
    ['test/versions/identity.test.ts'],
    [{ text: 'throw preconditionFailed();', without: '{}' }],
  ),
  ...guardsOf('src/objects/access-versions.ts', VERSION_TESTS, [
    { text: "affected === 'everybody' || affected.includes", without: 'affected.includes' },
    { text: ' || affected.includes(principal)', without: '' },
    { text: 'until <= now', without: 'false' },
    { text: ' WHERE id = ?', without: ' WHERE ? IS NOT NULL' },
    { text: '(isMany)', without: '(false)' },
    { text: ' || this.#versions.size + affected.length > CAPACITY', without: '' },
    { text: 'this.#versions.size + affected.length', without: 'affected.length' },
    { text: "if (principal === 'epoch') this.#epoch = String(version);\n      else ", without: '' },
    { text: "if (this.#epoch !== '') return;", without: '' },
    { text: 'this.#epoch = crypto.randomUUID();', without: '' },
    { text: 'this.#renew(affected);', without: '' },
  ]),
  ...guardsOf('src/objects/change-access.ts', CACHED_PRINCIPAL_TESTS, [
    {
      text: 'principals.length === 0',
      without: 'false',
      tests: ['test/http/guarded-session.test.ts'],
      title: 'Durable Object',
    },
    { text: 'throw accessNotChanged().because(error);', without: '', title: 'cannot be notified of a change' },
    { text: 'error instanceof Failure', without: 'true', title: 'as long as its outcome is unknown' },
    { text: 'if (error instanceof Failure) await end();', without: '', title: 'again when it was refused' },
    { text: 'await end();\n    return', without: 'return', tests: ACCESS_MODEL_TESTS },
  ]),
  ...guardsOf('src/db/last-uses.ts', CACHED_PRINCIPAL_TESTS, [
    { text: 'max(coalesce(last_used_at, 0), ', without: 'max(0, ', title: 'no last use earlier than the recorded' },
    {
      text: ' and ${table.companyId} = used.company_id',
      without: '',
      title: 'no last use earlier than the recorded',
    },
  ]),
];
