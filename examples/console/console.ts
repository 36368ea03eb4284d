/** A console in one page: signing in, tables, people, groups and a dashboard, by the client alone. */
import {
  createClient,
  type InferredColumn,
  type ManagedTable,
  type StoredSession,
  type UploadJob,
  withSession,
} from '../../client/client.ts';
import { act, buildTable, form, formatError, h } from './dom.ts';

const baseUrl = document.querySelector('meta[name=api]')?.getAttribute('content') ?? '';
const store = {
  read: (): StoredSession | null => JSON.parse(localStorage.getItem('session') ?? 'null'),
  write: (session: StoredSession | null) => localStorage.setItem('session', JSON.stringify(session)),
};
const api = createClient({ baseUrl, credential: withSession({ store }) });
const queryParameters = new URLSearchParams(location.search);
const main = h('main');
/** Number of views requested so far: a view that loads after another one was requested is not shown. */
let viewCount = 0;
const toText = (value: unknown): string => (value === null ? '' : String(value));
const buildLink = (to: string, name: string) => h('a', { href: `#${to}` }, name);

function showSignIn(): void {
  const fields = [
    {
      name: 'company_slug',
      label: 'Company',
      value: queryParameters.get('company') ?? '',
      autocomplete: 'organization',
    },
    { name: 'email', label: 'Email', value: queryParameters.get('email') ?? '', autocomplete: 'username' },
    { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
  ];
  const signIn = form(fields, 'Sign in', async ({ company_slug = '', email = '', password = '' }) => {
    const answer = await api.post('/v1/auth/login', { body: { company_slug, email, password } });
    if ('token' in answer) return startSession(answer);
    if (!('requires_2fa' in answer)) throw new Error('Your company asks for a second factor: set one up first.');
    if (!('pending_2fa_token' in answer))
      throw new Error('Your company asks for your passkey, which this page takes none of.');
    const { pending_2fa_token } = answer;
    const code = form([{ name: 'totp_token', label: 'Code' }], 'Go on', async ({ totp_token = '' }) =>
      startSession(await api.post('/v1/auth/2fa/login', { body: { pending_2fa_token, totp_token } })),
    );
    return main.replaceChildren(h('h1', {}, 'Second factor'), code);
  });
  viewCount++;
  document.body.replaceChildren(main);
  main.replaceChildren(h('h1', {}, 'Sign in'), signIn);
}

function startSession(session: StoredSession): Promise<void> {
  store.write({ ...session, received_at: Date.now() });
  return showConsole();
}

const VIEWS: Record<string, (id: string) => Promise<Node[]>> = {
  async tables() {
    const tables = await Array.fromAsync(api.list('/v1/managed-tables'));
    const rows = tables.map(({ _id, display_name, row_count }) => [
      buildLink(`table/${_id}`, display_name),
      toText(row_count),
    ]);
    return [h('h1', {}, 'Tables'), showUpload(), buildTable(['Name', 'Rows'], rows)];
  },

  async table(id) {
    const loadedTable = await api.get('/v1/managed-tables/{id}', { params: { id } });
    const rows = h('div', {}, await listRows(loadedTable, {}));
    const fields = [
      { name: 'column', label: 'Column', value: loadedTable.columns[0]?.name ?? '' },
      { name: 'part', label: 'contains' },
    ];
    const filter = form(fields, 'Filter', async ({ column = '', part }) =>
      rows.replaceChildren(await listRows(loadedTable, part ? { [column]: { contains: part } } : {})),
    );
    return [h('h1', {}, loadedTable.display_name), filter, rows];
  },

  async people() {
    const list = h('div');
    let latestSearch = 0;
    const fillTable = async (search?: string) => {
      const searchNumber = ++latestSearch;
      const users = await Array.fromAsync(api.list('/v1/users', { query: { search, sort_by: 'email' } }));
      const rows = users.map(({ _id: id, email, name, status }) => {
        const verb = status === 'active' ? 'deactivate' : 'activate';
        const toggleButton = act(verb, () =>
          api.post(`/v1/users/{id}/${verb}`, { params: { id } }).then(() => fillTable(search)),
        );
        const end = act(status === 'invited' ? 'take back' : 'delete', () =>
          api.delete('/v1/users/{id}', { params: { id } }).then(() => fillTable(search)),
        );
        return [email, name, status, status === 'invited' ? '' : toggleButton, end];
      });
      if (searchNumber === latestSearch) list.replaceChildren(buildTable(['Email', 'Name', 'Status', '', ''], rows));
    };
    await fillTable();
    const searchForm = form([{ name: 'search', label: 'Find' }], 'Search', ({ search }) =>
      fillTable(search || undefined),
    );
    const inviteForm = form([{ name: 'email', label: 'Email' }], 'Invite', ({ email = '' }) =>
      api.post('/v1/users/invite', { body: { email } }).then(() => fillTable()),
    );
    return [h('h1', {}, 'People'), searchForm, inviteForm, list];
  },

  async groups() {
    const groups = await Array.fromAsync(api.list('/v1/groups'));
    const rows = groups.map(async ({ _id: id, name, description }) => {
      const members = await Array.fromAsync(api.list('/v1/groups/{id}/members', { params: { id } }));
      return [name, description, members.map((member) => member.email ?? member.name).join(', ')];
    });
    const fields = ['name', 'slug', 'description'].map((name) => ({ name, label: name }));
    const make = form(fields, 'Create', ({ name = '', slug = '', description = '' }) =>
      api.post('/v1/groups', { body: { name, slug, description } }).then(showView),
    );
    return [h('h1', {}, 'Groups'), make, buildTable(['Name', 'Description', 'Members'], await Promise.all(rows))];
  },

  async dashboards() {
    const dashboards = await Array.fromAsync(api.list('/v1/dashboards'));
    return [
      h('h1', {}, 'Dashboards'),
      h('ul', {}, ...dashboards.map(({ _id, name }) => h('li', {}, buildLink(`dashboard/${_id}`, name)))),
    ];
  },

  async dashboard(id) {
    const {
      name,
      filters,
      charts = [],
    } = await api.get('/v1/dashboards/{id}', { params: { id }, query: { include: 'charts' } });
    const cards = h('div');
    const run = async (parameters: Record<string, unknown>) => {
      const { results } = await api.post('/v1/dashboards/{id}/execute', { params: { id }, body: { parameters } });
      const chartNodes = charts.map((chart) => {
        const {
          columns = [],
          rows = [],
          error,
        } = results.find((result) => result.visualization_id === chart.visualization_id) ?? {};
        const columnNames = columns.map((column) => column.name);
        const body = error
          ? h('p', { role: 'alert' }, error.message)
          : buildTable(
              columnNames,
              rows.slice(0, 20).map((row) => row.map(toText)),
            );
        return h('section', { 'aria-label': chart.name }, h('h2', {}, chart.name), body);
      });
      cards.replaceChildren(...chartNodes);
    };
    const offeredFilters = filters.filter(({ options }) => options !== null);
    const filterForm = form(
      offeredFilters.map(({ slug, label }) => ({ name: slug, label, list: `of-${slug}` })),
      'Show',
      (values) => {
        const chosenFilters = offeredFilters.filter(({ slug }) => values[slug]);
        return run(
          Object.fromEntries(
            chosenFilters.map(({ slug, kind }) => [slug, kind === 'multi_select' ? [values[slug]] : values[slug]]),
          ),
        );
      },
    );
    for (const { slug } of offeredFilters) {
      const { options } = await api.get('/v1/dashboards/{id}/filters/{slug}/options', { params: { id, slug } });
      filterForm.append(
        h('datalist', { id: `of-${slug}` }, ...options.map(({ label, value }) => h('option', { value }, label))),
      );
    }
    await run({});
    return [h('h1', {}, name), filterForm, cards];
  },
};

/** Builds the table of the first rows, each with a form that changes the row in the version that was read. */
async function listRows({ _id: id, columns }: ManagedTable, filter: Record<string, object>): Promise<Node> {
  const { records, total } = await api.get('/v1/managed-tables/{id}/data', {
    params: { id },
    query: { filter, per_page: 20 },
  });
  const editRow = async (rowId: string, at: HTMLElement) => {
    let ifMatch: string | undefined;
    const params = { id, rowId };
    const onHeaders = (headers: Headers) => {
      ifMatch = headers.get('etag') ?? undefined;
    };
    const row = await api.get('/v1/managed-tables/{id}/data/{rowId}', { params, onHeaders });
    const fields = columns.map(({ name, display_name }) => ({ name, label: display_name, value: toText(row[name]) }));
    const saveForm = form(fields, 'Save', async (values) => {
      const changedColumns = columns.filter(({ name }) => values[name] !== toText(row[name]));
      const body = Object.fromEntries(changedColumns.map(({ name, type }) => [name, parseTyped(type, values[name])]));
      await api.put('/v1/managed-tables/{id}/data/{rowId}', { params, body, ifMatch });
      await showView();
    });
    at.replaceChildren(saveForm);
  };
  const lines = records.map((row) => {
    const cell: HTMLElement = h(
      'span',
      {},
      act('edit', () => editRow(toText(row.id), cell)),
    );
    return [...columns.map(({ name }) => toText(row[name])), cell];
  });
  const head = columns.map(({ display_name }) => display_name);
  return h('div', {}, h('p', { role: 'status' }, `${total} rows`), buildTable([...head, ''], lines));
}

function parseTyped(type: string, value = ''): unknown {
  if (value === '') return null;
  if (type === 'boolean') return value === 'true';
  return ['integer', 'decimal'].includes(type) ? Number(value) : value;
}

/** Builds the form that uploads files, shows the inferred columns for confirmation, and loads the rows. */
function showUpload(): HTMLElement {
  const progress = h('progress', { max: 1, value: 0, 'aria-label': 'Sent' });
  const status = h('p', { role: 'status' });
  const input = h('input', { type: 'file', multiple: '', 'aria-label': 'Files' });
  const confirmArea = h('div');
  const wait = async (job: UploadJob) => {
    const onProgress = ({ progress: at }: UploadJob) => {
      status.textContent = at ? `${at.phase}: ${at.rows_processed} rows` : 'queued';
    };
    const endedJob = await api.waitFor(job, { onProgress });
    if (endedJob.error) throw new Error(endedJob.error.message);
    return endedJob;
  };
  const loadFile = async () => {
    const onProgress = ({ sent, total }: { sent: number; total: number }) => {
      progress.value = sent / total;
    };
    const job = await api.upload(input.files ?? [], { onProgress });
    const { inferred_schema: schema } = await wait(job);
    if (!schema) return;
    status.textContent = `${schema.total_row_count_estimate} rows were read.`;
    const makeFieldName = (column: InferredColumn) => `column ${column.source_index}`;
    const fields = schema.columns.map((column) => ({
      name: makeFieldName(column),
      label: column.type,
      value: column.name,
    }));
    const name = { name: 'display_name', label: 'Table', value: schema.suggested_table_name };
    const confirmForm = form([name, ...fields], 'Load', async ({ display_name = '', ...values }) => {
      const columns = schema.columns.map((column) => ({ ...column, name: values[makeFieldName(column)] ?? '' }));
      await api.post('/v1/managed-tables/upload-jobs/{jobId}/confirm', {
        params: { jobId: job._id },
        body: { display_name, columns },
      });
      location.hash = `table/${(await wait(job)).user_table_id}`;
    });
    confirmArea.replaceChildren(confirmForm);
  };
  return h('section', { 'aria-label': 'Upload' }, input, progress, act('Upload', loadFile), status, confirmArea);
}

async function showView(): Promise<void> {
  const viewNumber = ++viewCount;
  const [, view = '', id = ''] = /^#?(\w*)\/?(.*)$/.exec(location.hash) ?? [];
  try {
    const nodes = (await (VIEWS[view] ?? VIEWS.tables)?.(id)) ?? [];
    if (viewNumber === viewCount) main.replaceChildren(...nodes);
  } catch (error) {
    if (viewNumber !== viewCount) return;
    if (store.read() === null) return showSignIn();
    main.replaceChildren(h('p', { role: 'alert' }, formatError(error)));
  }
}

async function showConsole(): Promise<void> {
  const { user, context } = await api.get('/v1/auth/me');
  const signOutButton = act('Sign out', async () => {
    await api.post('/v1/auth/logout').finally(() => store.write(null));
    showSignIn();
  });
  const links = ['tables', 'people', 'groups', 'dashboards'].map((view) => buildLink(view, view));
  main.replaceChildren();
  document.body.replaceChildren(
    h('nav', {}, ...links, `${user?.email} of ${context.company.name} `, signOutButton),
    main,
  );
  await showView();
}

addEventListener('hashchange', () => void showView());
if (store.read() === null) showSignIn();
else showConsole().catch(showSignIn);
