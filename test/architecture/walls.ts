import { posix } from 'node:path';

/**
 * The folders of `src`, from what knows nothing to what knows everything: each may import those above it, not those
 * beside it or below.
 */
export const LAYERS: readonly (readonly string[])[] = [
  ['generated', 'kernel'],
  ['formats', 'permissions', 'platform', 'sql-templates', 'texts'],
  ['presentation', 'sharing', 'tenant-sql'],
  ['db'],
  ['access'],
  ['logs'],
  ['objects'],
  ['config.ts'],
  ['context.ts'],
  ['http'],
  ['modules'],
  ['jobs'],
  ['app.ts'],
  ['api.ts', 'background.ts'],
  ['index.ts'],
];

/** Packages that only some folders may import. */
const PACKAGES: readonly { name: RegExp; home: RegExp; says: string }[] = [
  {
    name: /^@?hono(\/|$)/,
    home: /^(http\/|app\.ts$)/,
    says: 'Hono appears only in http/ and app.ts. Take the request from the endpoint instead.',
  },
  {
    name: /^drizzle-orm(\/|$)/,
    home: /^(db\/|access\/(sources|administrators|population)\.ts$|modules\/.*(store|queries)\.ts$)/,
    says: 'drizzle appears only in db/ and in stores. Move the query to a store.ts or queries.ts.',
  },
  {
    name: /^@neondatabase\//,
    home: /^tenant-sql\//,
    says: 'The Neon driver appears only in tenant-sql/. Go through requireDatabase(ctx).',
  },
];

/** What of a module others may import. */
const PUBLIC_FILES = ['service.ts', 'queries.ts', 'views.ts', 'failures.ts', 'fields.ts'];

/** An import: a file of `src`, and the file of `src` or the package that it names. */
export interface Import {
  from: string;
  to: string;
}

/** The imports that a file's text holds, types included. Relative ones are resolved. */
export function listImports(from: string, text: string): Import[] {
  const specifiers = text.matchAll(/(?:^|[;\s}])(?:from|import)\s*\(?\s*'([^']+)'/g);
  return [...specifiers].map(([, specifier = '']) => ({
    from,
    to: specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier,
  }));
}

/** One line for each import that a wall forbids, which says what to do instead. */
export function findBreaches(imports: readonly Import[]): string[] {
  return [...imports.flatMap((each) => findBreach(each)), ...findCircle(imports)];
}

/** The reference of the API shows the guides of the repository, and its requests are made by the client. It is built into one file. */
const isOfReference = (from: string, to: string): boolean =>
  from.startsWith('web/docs/') && /^\.\.\/(client\/client\.ts|.+\.md)$/.test(to);

function findBreach({ from, to }: Import): string[] {
  const line = (says: string) => [`src/${from} imports ${to}: ${says}`];
  if (to.startsWith('../') && !isOfReference(from, to))
    return line('only src is deployed. Move what it needs into src.');
  if (from.startsWith('web/'))
    return from === 'web/build.ts' || isOfPages(to) || isOfReference(from, to)
      ? []
      : line('pages know only kernel/, texts/ and presentation/. Move what it needs to presentation/.');
  if (to.startsWith('web/'))
    return line('what runs in browsers is imported by web/ alone. Move what both need to presentation/.');
  const home = PACKAGES.find(({ name }) => name.test(to));
  if (home) return home.home.test(from) ? [] : line(home.says);
  const [own, other] = [getLayer(from), getLayer(to)];
  if (own < 0) return [`src/${from} is in no layer: add its folder to LAYERS in test/architecture/walls.ts.`];
  if (other < 0 || getFolder(from) === getFolder(to)) return findModuleBreach(from, to).flatMap(line);
  if (other > own)
    return line(`${getFolder(from)} is below ${getFolder(to)}. Move what it needs to a layer above both.`);
  if (other === own)
    return line(
      `${getFolder(from)} and ${getFolder(to)} stand beside each other and share nothing. Move what both need to a layer above.`,
    );
  const isRoute = /\/(routes\.[\w.-]+|endpoints|views|tools\.mcp)\.ts$/.test(from);
  if (from.startsWith('modules/') && to.startsWith('http/') && !isRoute) {
    return line('services know nothing of HTTP. Move it to the routes, or what is imported to kernel/.');
  }
  return [];
}

function findModuleBreach(from: string, to: string): string[] {
  if (!from.startsWith('modules/') || !to.startsWith('modules/')) return [];
  if (/\/(routes\.[^/]+|tools\.mcp\.ts)$/.test(to)) {
    return ['only app.ts imports routes and tools. Move what it needs to service.ts or views.ts.'];
  }
  if (getModule(from) === getModule(to)) return [];
  return PUBLIC_FILES.includes(posix.basename(to))
    ? []
    : [`another module is used through its ${PUBLIC_FILES.join(', ')} only. Export it from one of them.`];
}

/** The operations that a file of a module declares, and its tools of more than one word. */
export function listOperations(file: string, text: string): string[] {
  if (!/^modules\/.*\/(routes\.[\w.-]+|tools\.mcp)\.ts$/.test(file)) return [];
  const written = [...text.matchAll(/\b(?:operationId: '(\w+)'|name: '(\w+_\w+)',\n\s+title:)/g)];
  // Those of `resourceEndpoints`.
  const derived = [...text.matchAll(/\bids: \{ one: '(\w+)', many: '(\w+)' \}/g)].flatMap(([, one, many]) => [
    `list${many}`,
    ...['create', 'get', 'update', 'archive'].map((verb) => verb + one),
    `list${one}Versions`,
  ]);
  return [...written.map(([, id, tool]) => id ?? tool ?? ''), ...derived];
}

/** One line for each operation of a module that the code of `http` names. */
export function findNamedOperations(file: string, text: string, operations: readonly string[]): string[] {
  if (!file.startsWith('http/')) return [];
  const words = new Set(removeComments(text).match(/\w+/g));
  return operations
    .filter((operation) => words.has(operation))
    .map((operation) => `src/${file} names ${operation}: http/ knows no operation of a module. Move it to the module.`);
}

/** Folders whose files are there because several use them. */
const COMMON_FOLDERS = /^(kernel|tenant-sql)\//;

/**
 * One line for each file of a common folder that one other folder or module alone imports, and no file beside it. What
 * speaks the protocol of Postgres, through the driver, stands with the client all the same.
 */
export function findUsedByOne(imports: readonly Import[]): string[] {
  const users = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    if (COMMON_FOLDERS.test(to)) users.set(to, (users.get(to) ?? new Set()).add(findOwner(from)));
  }
  const usesDriver = (file: string) => imports.some(({ from, to }) => from === file && to.startsWith('@neondatabase/'));
  return [...users]
    .filter(([file, { size }]) => size === 1 && !users.get(file)?.has(getFolder(file)) && !usesDriver(file))
    .map(([file, [user]]) => `src/${file} is used by ${user} alone: it stands there.`);
}

const findOwner = (file: string): string => (getModule(file) ? `modules/${getModule(file)}` : getFolder(file));

/** Words of the domain. Failures alone name them all: they are worded for every surface. */
const DOMAIN_WORDS =
  /\w*(?:compan(?:y|ies)|dashboard|visualization|embed(?!ded)|outsider|viewer|tenant|polic(?:y|ies)|permission|principal|branding|\bsql)\w*/gi;

/** One line for each word of the domain that the code of a file of `kernel` holds. */
export function findDomainWords(file: string, text: string): string[] {
  if (!file.startsWith('kernel/') || file === 'kernel/failure.ts') return [];
  const found = new Set([...removeComments(text).matchAll(DOMAIN_WORDS)].map(([word]) => word));
  return [...found].map(
    (word) => `src/${file} speaks of ${word}: kernel/ knows no domain. Move it to a folder that does.`,
  );
}

/** What calls addresses that only the operator chooses; all others are called by the one that looks names up. */
const OPERATOR_ADDRESS_CALLERS = /^(web\/|platform\/(outside-fetch|ai|mail-resend)\.ts$)/;

/** One line for a file that calls an address by itself, which a customer may have chosen. */
export const findOwnFetches = (file: string, text: string): string[] =>
  !OPERATOR_ADDRESS_CALLERS.test(file) && /(?<![\w.])(?:globalThis\.)?fetch\(/.test(removeComments(text))
    ? [`src/${file} calls an address by itself. Use fetchOutside, which refuses what leads inside.`]
    : [];

/**
 * One line for each table that a statement joins to a list otherwise than by `cross join`: SQLite might begin with the table,
 * and look through the list for each of its rows.
 */
export const findJoinedLists = (file: string, text: string): string[] =>
  [...text.matchAll(/\bfrom json_each\((?:(?!\bunion\b)[^`])*?(?<!cross )\bjoin \$\{(\w+)\}/g)].map(
    ([, table]) => `src/${file} joins ${table} to a list: write "cross join", so that the list is walked first.`,
  );

const removeComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, '');

/** The first circle that the modules form, with the import that closes it. */
function findCircle(imports: readonly Import[]): string[] {
  const edges = new Map<string, Map<string, Import>>();
  for (const each of imports) {
    const [from, to] = [getModule(each.from), getModule(each.to)];
    if (from === undefined || to === undefined || from === to) continue;
    edges.set(from, (edges.get(from) ?? new Map()).set(to, each));
  }
  const done = new Set<string>();
  const visit = (module: string, path: string[]): string[] => {
    for (const [next, { from, to }] of done.has(module) ? [] : (edges.get(module) ?? [])) {
      const way = [...path, module, next];
      const start = way.indexOf(next);
      if (start < way.length - 1) {
        const names = way.slice(start).join(' → ');
        return [`Modules form a circle, ${names}: src/${from} imports ${to}. Move what is shared to one end.`];
      }
      const found = visit(next, [...path, module]);
      if (found.length > 0) return found;
    }
    done.add(module);
    return [];
  };
  for (const module of edges.keys()) {
    const found = visit(module, []);
    if (found.length > 0) return found;
  }
  return [];
}

/** One line for each snapshot in a file of its own, which `npm run contract` writes, that stands among what people write. */
export const findMisplacedSnapshots = (file: string, text: string): string[] =>
  [...text.matchAll(/\.toMatchFileSnapshot\(\s*['`]([^'`]*)/g)]
    .map(([, path = '']) => path)
    .filter((path) => !/(^|\/)generated\//.test(path))
    .map((path) => `test/${file} writes ${path}: generated files stand in a folder generated/.`);

/** The layers that ask others by HTTP, or hand bytes to the runtime as an answer of it. */
const HTTP_LAYERS =
  /^(platform|tenant-sql|formats|http|web)\/|^modules\/.*\/routes\.[\w.-]+$|^(app|api|background|index|context)\.ts$/;

/** One line for each use of the globals of HTTP where no request is known. */
export function findHttpUses(file: string, text: string): string[] {
  if (HTTP_LAYERS.test(file)) return [];
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|`[^`]*`/g, '');
  const found = new Set([...code.matchAll(/(?<![\w.])(?:Request|Response|Headers)\b/g)].map(([name]) => name));
  return [...found].map(
    (name) =>
      `src/${file} uses ${name}: services know nothing of HTTP. Take a SentBody, answer a PreparedAnswer (kernel/files.ts).`,
  );
}

const getFolder = (file: string): string => file.split('/')[0] as string;
const getLayer = (file: string): number => LAYERS.findIndex((layer) => layer.includes(getFolder(file)));
const getModule = (file: string): string | undefined => /^modules\/([^/]+)\//.exec(file)?.[1];
const isOfPages = (to: string): boolean => /^(web|kernel|texts|presentation)\//.test(to) || !to.includes('.ts');
