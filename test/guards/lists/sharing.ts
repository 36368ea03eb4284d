import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/shares/races.test.ts'];
const MOMENT_CASE = { tests: ['test/viewing/denied.sharing.test.ts'], title: 'moment' };
const CHANGE_TESTS = 'test/viewing/changes-of-shared.sharing.test.ts';
const DURING_CHANGE_CASE = { tests: [CHANGE_TESTS], title: 'during a change' };
const REVOCATION_TESTS = ['test/embeds/revocation.sharing.test.ts'];
const HOST_TOKEN_TESTS = ['test/embeds/host-tokens.sharing.test.ts'];
const FRESH_RESULT_TESTS = ['test/viewing/cached-results.sharing.test.ts'];
const OUTSIDER_SIGN_IN_TESTS = ['test/share-auth/share-auth.sharing.test.ts'];

export const SHARING_GUARDS = [
  ...makeGuards('src/modules/dashboards/store.ts', RACE_TESTS, [
    { in: 'insertDashboard', text: 'doWidgetsExist(record)', without: 'sql`true`' },
    { in: 'insertDashboard', text: 'makeUniqueSlugSql(dashboards, record)', without: 'record.slug' },
    { in: 'areDashboardsUnchanged', text: " and dashboards.version = seen.value ->> 'version'", ...MOMENT_CASE },
    { in: 'updateDashboard', text: 'eq(dashboards.version, version),' },
    { in: 'updateDashboard', text: 'doWidgetsExist(record),' },
    { in: 'updateDashboard', text: 'unsharedCondition,', ...DURING_CHANGE_CASE },
  ]),
  ...makeGuards(
    'src/modules/visualizations/queries.ts',
    [CHANGE_TESTS],
    [
      {
        in: 'isSeenByOthers',
        text: '${hasSigningKey} or ${isDashboardSeen',
        without: 'false or ${isDashboardSeen',
        title: 'key to sign',
      },
      {
        in: 'isSeenByOthers',
        text: '${hasSigningKey} or ${isPublished}',
        without: '${isPublished}',
        title: 'key to sign',
      },
      { in: 'isSeenByOthers', text: '${isPublished} or ', ...DURING_CHANGE_CASE },
      { in: 'isSeenByOthers', text: '${isShownAlone(companyId, type, sql`(${id})`, now)} or ', title: 'of its own' },
      {
        in: 'isSeenByOthers',
        text: ' or ${isDashboardSeen(companyId, containingDashboardIds, now)}',
        ...DURING_CHANGE_CASE,
      },
      { in: 'isDashboardSeen', text: 'and revoked_at is null', without: 'and false', ...DURING_CHANGE_CASE },
      { in: 'isDashboardSeen', text: "or ${isShownAlone(companyId, 'dashboard', ids, now)}", ...DURING_CHANGE_CASE },
      {
        in: 'isShownAlone',
        text: 'exists (select 1 from ${shareGrants} where',
        without: 'exists (select 1 from ${shareGrants} where false and',
        ...DURING_CHANGE_CASE,
      },
      {
        in: 'isShownAlone',
        text: 'or exists (select 1 from ${schedules} where',
        without: 'or exists (select 1 from ${schedules} where false and',
        ...DURING_CHANGE_CASE,
      },
      { in: 'isShownAlone', text: 'embedded.embedded_until >', without: 'false and 0 <', ...DURING_CHANGE_CASE },
      { in: 'recordEmbedding', text: ', eq(table.version, version)', ...MOMENT_CASE },
      {
        in: 'recordEmbedding',
        text: 'max(coalesce(${table.embeddedUntil}, 0), ${embeddedUntil})',
        without: '${embeddedUntil}',
        tests: RACE_TESTS,
      },
    ],
  ),
  ...makeGuards('src/modules/visualizations/store.ts', RACE_TESTS, [
    { in: 'insertVisualization', text: 'makeUniqueSlugSql(visualizations, record)', without: 'record.slug' },
    { in: 'updateVisualization', text: 'eq(visualizations.version, version),' },
    {
      in: 'updateVisualization',
      text: "unseenAt === undefined ? undefined : not(isSeenByOthers(companyId, { type: 'visualization', id }, unseenAt)),",
      ...DURING_CHANGE_CASE,
    },
  ]),
  ...makeGuards('src/modules/share-contexts/store.ts', RACE_TESTS, [
    { in: 'insertContext', text: 'areDashboardsUnchanged(record.companyId, dashboards)', without: 'sql`true`' },
    { in: 'insertContext', text: 'makeUniqueSlugSql(shareContexts, record)', without: 'record.slug' },
    { in: 'isContextUnchanged', text: ', eq(shareContexts.version, version)' },
    { in: 'updateContext', text: 'eq(shareContexts.version, version),' },
    { in: 'updateContext', text: 'areDashboardsUnchanged(companyId, dashboards),' },
    { in: 'replaceGrants', text: ', isUnchanged)', without: ')' },
    { in: 'replaceGrants', text: ' where ${isUnchanged}' },
    { in: 'replaceGrants', text: 'isContextUnchanged(context), ' },
    { in: 'prepareDeletion', text: ', eq(shareContexts.version, version)' },
    {
      in: 'prepareDeletion',
      text: 'eq(shareMembers.companyId, companyId), isDeleted',
      without: 'eq(shareMembers.companyId, companyId)',
    },
    { in: 'prepareDeletion', text: '          isDeleted,' },
    { in: 'prepareDeletion', text: 'isNull(dashboardShares.revokedAt),' },
    { in: 'insertMember', text: 'isContextUnchanged(context),' },
    { in: 'insertMember', text: '< ${maxCount}', without: '>= 0' },
    { in: 'insertMember', text: 'areDashboardsUnchanged(context.companyId, dashboards),', ...MOMENT_CASE },
  ]),
  ...makeGuards('src/modules/share-contexts/service.ts', RACE_TESTS, [
    { in: 'deleteContext', text: '{ shareContextId: id }, HAS_CHANGED_ROWS', without: '{ shareContextId: id }' },
  ]),
  ...makeGuards(
    'src/modules/share-activity/store.ts',
    ['test/share-activity/share-activity.sharing.test.ts'],
    [
      { in: 'insertShareMessages', text: 'isNull(dashboardShares.revokedAt),', title: 'each once' },
      {
        in: 'insertShareMessages',
        text: 'existsSql(dashboards, matchesId(dashboards, companyId, sql`${dashboardShares.dashboardId}`)),',
        title: 'each once',
      },
    ],
  ),
  ...makeGuards('src/modules/embeds/store.ts', REVOCATION_TESTS, [
    {
      in: 'upsertRevocation',
      text: 'max(${embedRevocations.revokedAt}, excluded.revoked_at)',
      without: 'excluded.revoked_at',
    },
    { in: 'upsertRevocation', text: '< ${maxRevocations}', without: '>= 0' },
    { in: 'upsertRevocation', text: '${isSubjectKnown} or ' },
    { in: 'deleteTargetRevocations', text: 'lte(embedRevocations.revokedAt, revokedUntil),' },
    { in: 'deleteTargetRevocations', text: 'gte(embedRevocations.subject, firstSubject),' },
    { in: 'deleteTargetRevocations', text: ' lt(embedRevocations.subject, endSubject),' },
    {
      in: 'deleteRevocation',
      text: 'eq(embedRevocations.subject, subject)',
      without: 'sql`true`',
      title: 'whom the ids of older versions name',
    },
    { in: 'deleteRevocationsBefore', text: 'lt(embedRevocations.revokedAt, time)', without: 'sql`true`' },
  ]),
  ...makeGuards(
    'src/modules/shares/service.ts',
    ['test/share-activity/share-activity.sharing.test.ts'],
    [{ in: 'revokeShare', text: ', {}, hasDashboard(share)', title: 'at the same time' }],
  ),
  ...makeGuards('src/modules/shares/store.ts', RACE_TESTS, [
    {
      in: 'insertShare',
      text: 'areDashboardsUnchanged(record.companyId, [{ id: record.dashboardId, version }]),',
      without: 'sql`true`,',
      ...MOMENT_CASE,
    },
    { in: 'insertShare', text: 'contextExists(record.companyId, record.shareContextId)', without: 'undefined' },
    { in: 'updateShare', text: 'isNull(dashboardShares.revokedAt),' },
    { in: 'updateShare', text: 'eq(dashboardShares.embedOptions, storedShare.embedOptions)', without: 'undefined' },
    { in: 'updateShare', text: 'contextExists(storedShare.companyId, newValues.shareContextId)', without: 'undefined' },
    { in: 'updateShare', text: 'areDashboardsUnchanged(storedShare.companyId, dashboards),', ...MOMENT_CASE },
    { in: 'markShareRevoked', text: ', isNull(dashboardShares.revokedAt)' },
  ]),
  ...makeGuards('src/modules/viewing/cached-answer.ts', FRESH_RESULT_TESTS, [
    {
      in: 'findCachedResponse',
      text: "/${isChanging ? 'changing' : versions.version}",
      title: 'run twice if the data changes between them',
    },
    {
      in: 'findCachedResponse',
      text: 'versions?.readVersions(tables)',
      without: 'versions && { tables, version: versions.version }',
      title: 'while a change is made',
    },
  ]),
  ...makeGuards('src/modules/viewing/execution.ts', FRESH_RESULT_TESTS, [
    { in: 'respondToExecution', text: 'if (isChanging) begin();', title: 'another change is unfinished' },
  ]),
  ...makeGuards('src/modules/embeds/store.ts', HOST_TOKEN_TESTS, [
    { in: 'insertSigningKey', text: '< ${maxKeys}', without: '>= 0' },
  ]),
  ...makeGuards('drizzle/0020_end-embed-tokens.sql', REVOCATION_TESTS, [
    { text: 'PRIMARY KEY(`company_id`, `subject`)', without: 'CHECK(true)' },
  ]),
  ...makeGuards('drizzle/0007_visualizations.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `dashboards_slug`', without: 'INDEX `dashboards_slug`' },
    { text: 'UNIQUE INDEX `visualizations_slug`', without: 'INDEX `visualizations_slug`' },
    {
      text: ',\n\tFOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action',
    },
  ]),
  ...makeGuards('drizzle/0010_sharing.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `outsiders_email`', without: 'INDEX `outsiders_email`', tests: OUTSIDER_SIGN_IN_TESTS },
    { text: 'UNIQUE INDEX `share_contexts_slug`', without: 'INDEX `share_contexts_slug`' },
    { text: 'UNIQUE INDEX `share_members_once`', without: 'INDEX `share_members_once`' },
  ]),
];
