import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/knowledge/races.test.ts'];
const KIND_TESTS = ['test/knowledge/kind-change.console.test.ts'];
const JOB_TESTS = ['test/knowledge/job-races.test.ts'];
const CONCEPT_TESTS = ['test/knowledge/concept-generation.test.ts'];
const SUPERSEDED_TITLE = 'supersedes the pending suggestions';
const ONTOLOGY_TESTS = ['test/knowledge/ontology-generation.test.ts'];
const UNIQUE_RELATION_TITLE = 'suggests a relation once';

const METRIC_TESTS = ['test/knowledge/metrics/query.console.test.ts'];

export const KNOWLEDGE_GUARDS = [
  ...makeGuards(
    'src/modules/knowledge/generation/reading-limit.ts',
    ['test/knowledge/concept-files.test.ts'],
    [
      {
        text: 'readingSemaphore.runWithPermit(work, tooManyFiles)',
        without: 'work()',
        title: 'is read only after the text of the previous file is stored',
      },
    ],
  ),
  ...makeGuards('src/modules/knowledge/metrics/service.ts', METRIC_TESTS, [
    {
      in: 'runMetrics',
      text: 'if (!(await areTablesUnchanged(ctx, compiledQuery.tables))) return undefined;',
      title: 'took the name of an allowed one',
    },
  ]),
  ...makeGuards('src/modules/knowledge/metrics/prepare.ts', METRIC_TESTS, [
    {
      in: 'requireReadableTables',
      text: "requireAction(actor, 'managed-tables:data-read', id);",
      without: 'void [actor, id];',
      title: 'a table that it reads or joins is denied',
    },
  ]),
  ...makeGuards('src/modules/knowledge/metrics/store.ts', METRIC_TESTS, [
    { in: 'isQueryable', text: 'eq(resources.companyId, companyId),', title: 'if it is of another kind' },
    { in: 'isQueryable', text: "eq(resources.status, 'active'),", title: 'if it is of another kind' },
    { in: 'isQueryable', text: 'eq(resources.validationErrors, []),', title: 'if it is of another kind' },
  ]),
  ...makeGuards('src/modules/knowledge/suggestions/store.ts', JOB_TESTS, [
    { in: 'isSuggestionPending', text: ", eq(suggestions.status, 'pending')", tests: RACE_TESTS },
    { in: 'markAccepted', text: ', HAS_CHANGED_ROWS', tests: RACE_TESTS },
    { in: 'markRejected', text: ", eq(suggestions.status, 'pending')", tests: RACE_TESTS },
    { in: 'insertJobSuggestions', text: 'where ${HAS_CHANGED_ROWS}', without: 'where true' },
    { in: 'insertJobSuggestions', text: '.onConflictDoNothing()', tests: ONTOLOGY_TESTS, title: UNIQUE_RELATION_TITLE },
    {
      in: 'supersedeConcepts',
      text: "eq(suggestions.status, 'pending'),",
      tests: CONCEPT_TESTS,
      title: SUPERSEDED_TITLE,
    },
    {
      in: 'supersedeConcepts',
      text: " and ${jobs.type} = 'concept_generation'",
      tests: CONCEPT_TESTS,
      title: SUPERSEDED_TITLE,
    },
    {
      in: 'supersedeConcepts',
      text: 'sql`exists (',
      without: 'sql`true or exists (',
      tests: CONCEPT_TESTS,
      title: 'keeps the pending suggestions of an earlier generation',
    },
    { in: 'publishStagedSuggestions', text: ", eq(suggestions.status, 'staged')" },
    {
      in: 'deleteStagedSuggestions',
      text: "eq(suggestions.status, 'staged'),",
      tests: ['test/knowledge/enrichment.test.ts'],
      title: 'ends when it is cancelled',
    },
    { in: 'deleteStagedSuggestions', text: 'HAS_CHANGED_ROWS,' },
  ]),
  ...makeGuards('src/modules/knowledge/generation/store.ts', JOB_TESTS, [
    { in: 'leaseJob', text: 'isActiveJob, ' },
    { in: 'leaseJob', text: ', or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now))' },
    { in: 'releaseJob', text: ', eq(jobs.leasedUntil, leaseUntil)' },
    { in: 'advanceJob', text: "eq(jobs.status, 'running'), " },
    { in: 'advanceJob', text: ', eq(jobs.processedCount, job.processedCount)' },
    { in: 'failJob', text: 'isActiveJob, ' },
    { in: 'failJob', text: ', eq(jobs.processedCount, job.processedCount)' },
    { in: 'cancelJob', text: ', isActiveJob' },
  ]),
  ...makeGuards('src/modules/knowledge/semantic/store.ts', KIND_TESTS, [
    {
      in: 'hasNoNewReferrers',
      text: 'mayReferTo(companyId, id),',
      without: 'mayReferTo(companyId, id), sql`false`,',
      title: 'a reference to it is written just before',
    },
  ]),
  ...makeGuards('src/modules/knowledge/resources/store.ts', RACE_TESTS, [
    { in: 'insertResource', text: 'sql.join([sql`true`, ...conditions], sql` and `)', without: 'sql`true`' },
    {
      in: 'haveRequiredFacets',
      text: 'not exists (select 1 from json_each',
      without: 'true or not exists (select 1 from json_each',
      tests: KIND_TESTS,
      title: 'whose kind was changed just before',
    },
    { in: 'replaceResource', text: 'eq(resources.version, row.version - 1), ' },
    { in: 'replaceResource', text: ', ...conditions' },
    { in: 'insertVersion', text: 'HAS_CHANGED_ROWS', without: 'sql`true`' },
    { in: 'formsNoCycle', text: 'not exists (', without: 'true or exists (' },
    {
      in: 'setValidationErrors',
      text: ', eq(resources.version, row.version)',
      tests: ['test/knowledge/rechecks.test.ts'],
    },
  ]),
  ...makeGuards('drizzle/0008_knowledge.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `knowledge_resources_living_key`', without: 'INDEX `knowledge_resources_living_key`' },
    { text: 'UNIQUE INDEX `knowledge_versions_of_resource`', without: 'INDEX `knowledge_versions_of_resource`' },
  ]),
  ...makeGuards('drizzle/0009_knowledge_suggestions.sql', ONTOLOGY_TESTS, [
    {
      text: 'UNIQUE INDEX `knowledge_suggestions_of_job`',
      without: 'INDEX `knowledge_suggestions_of_job`',
      title: UNIQUE_RELATION_TITLE,
    },
  ]),
  ...makeGuards(
    'drizzle/0027_suggest-imports-once.sql',
    ['test/knowledge/interchange/interchange.console.test.ts'],
    [
      {
        text: 'UNIQUE INDEX `knowledge_suggestions_of_import`',
        without: 'INDEX `knowledge_suggestions_of_import`',
        title: 'another import came in between',
      },
    ],
  ),
  ...makeGuards('drizzle/0011_knowledge_jobs.sql', JOB_TESTS, [
    { text: 'UNIQUE INDEX `knowledge_jobs_one_at_a_time`', without: 'INDEX `knowledge_jobs_one_at_a_time`' },
  ]),
];
