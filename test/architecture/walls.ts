import { posix } from 'node:path';

/** The layers of `src`, from the lowest to the highest: a folder may import only folders of the layers listed above its own. */
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
const PACKAGES: readonly { name: RegExp; allowedFiles: RegExp; message: string }[] = [
  {
    name: /^@?hono(\/|$)/,
    allowedFiles: /^(http\/|app\.ts$)/,
    message: 'Hono appears only in http/ and app.ts. Take the request from the endpoint instead.',
  },
  {
    name: /^drizzle-orm(\/|$)/,
    allowedFiles: /^(db\/|access\/(sources|administrators|population)\.ts$|modules\/.*(store|queries)\.ts$)/,
    message: 'drizzle appears only in db/ and in stores. Move the query to a store.ts or queries.ts.',
  },
  {
    name: /^@neondatabase\//,
    allowedFiles: /^tenant-sql\//,
    message: 'The Neon driver appears only in tenant-sql/. Go through requireDatabase(ctx).',
  },
];

/** The files of a module that other modules may import. */
const PUBLIC_FILES = ['service.ts', 'queries.ts', 'views.ts', 'failures.ts', 'fields.ts'];

/** An import: the importing file of `src`, and the imported file of `src` or package. */
export interface Import {
  importingFile: string;
  importedPath: string;
}

/** Lists the imports in a file's text, type imports included. Relative paths are resolved. */
export function listImports(from: string, text: string): Import[] {
  const specifiers = text.matchAll(/(?:^|[;\s}])(?:from|import)\s*\(?\s*'([^']+)'/g);
  return [...specifiers].map(([, specifier = '']) => ({
    importingFile: from,
    importedPath: specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier,
  }));
}

/** Returns one line for each import that breaks a rule, with advice on what to do instead. */
export function findBreaches(imports: readonly Import[]): string[] {
  return [...imports.flatMap((importEntry) => findBreach(importEntry)), ...findCycle(imports)];
}

/** Returns true for an import by the API reference page, which is bundled with the repository's guides and the client. */
const isReferenceImport = (from: string, to: string): boolean =>
  from.startsWith('web/docs/') && /^\.\.\/(client\/client\.ts|.+\.md)$/.test(to);

function findBreach({ importingFile, importedPath }: Import): string[] {
  const makeBreach = (message: string) => [`src/${importingFile} imports ${importedPath}: ${message}`];
  if (importedPath.startsWith('../') && !isReferenceImport(importingFile, importedPath))
    return makeBreach('only src is deployed. Move what it needs into src.');
  if (importingFile.startsWith('web/'))
    return importingFile === 'web/build.ts' ||
      isPageImport(importedPath) ||
      isReferenceImport(importingFile, importedPath)
      ? []
      : makeBreach('pages know only kernel/, texts/ and presentation/. Move what it needs to presentation/.');
  if (importedPath.startsWith('web/'))
    return makeBreach('what runs in browsers is imported by web/ alone. Move what both need to presentation/.');
  const packageRule = PACKAGES.find(({ name }) => name.test(importedPath));
  if (packageRule) return packageRule.allowedFiles.test(importingFile) ? [] : makeBreach(packageRule.message);
  const [own, other] = [getLayer(importingFile), getLayer(importedPath)];
  if (own < 0) return [`src/${importingFile} is in no layer: add its folder to LAYERS in test/architecture/walls.ts.`];
  if (other < 0 || getFolder(importingFile) === getFolder(importedPath))
    return findModuleBreach(importingFile, importedPath).flatMap(makeBreach);
  if (other > own)
    return makeBreach(
      `${getFolder(importingFile)} is below ${getFolder(importedPath)}. Move what it needs to a layer above both.`,
    );
  if (other === own)
    return makeBreach(
      `${getFolder(importingFile)} and ${getFolder(importedPath)} stand beside each other and share nothing. Move what both need to a layer above.`,
    );
  const isRoute = /\/(routes\.[\w.-]+|endpoints|views|tools\.mcp)\.ts$/.test(importingFile);
  if (importingFile.startsWith('modules/') && importedPath.startsWith('http/') && !isRoute) {
    return makeBreach('services know nothing of HTTP. Move it to the routes, or what is imported to kernel/.');
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

/** Lists the operations that a file of a module declares, and its tools whose names have more than one word. */
export function listOperations(file: string, text: string): string[] {
  if (!/^modules\/.*\/(routes\.[\w.-]+|tools\.mcp)\.ts$/.test(file)) return [];
  const declaredNames = [...text.matchAll(/\b(?:operationId: '(\w+)'|name: '(\w+_\w+)',\n\s+title:)/g)];
  // Those of `createResourceEndpoints`.
  const derivedNames = [...text.matchAll(/\bids: \{ singular: '(\w+)', plural: '(\w+)' \}/g)].flatMap(
    ([, singular, plural]) => [
      `list${plural}`,
      ...['create', 'get', 'update', 'archive'].map((verb) => verb + singular),
      `list${singular}Versions`,
    ],
  );
  return [...declaredNames.map(([, id, tool]) => id ?? tool ?? ''), ...derivedNames];
}

/** Returns one line for each operation of a module that the code of `http` names. */
export function findNamedOperations(file: string, text: string, operations: readonly string[]): string[] {
  if (!file.startsWith('http/')) return [];
  const words = new Set(removeComments(text).match(/\w+/g));
  return operations
    .filter((operation) => words.has(operation))
    .map((operation) => `src/${file} names ${operation}: http/ knows no operation of a module. Move it to the module.`);
}

/** Folders whose files must be used by several folders. */
const COMMON_FOLDERS_PATTERN = /^(kernel|tenant-sql)\//;

/**
 * Returns one line for each file of a common folder that a single other folder or module imports, and no file of its own folder.
 * Files that use the Postgres driver are exempt: they stay beside the client.
 */
export function findUsedByOne(imports: readonly Import[]): string[] {
  const users = new Map<string, Set<string>>();
  for (const { importingFile, importedPath } of imports) {
    if (COMMON_FOLDERS_PATTERN.test(importedPath))
      users.set(importedPath, (users.get(importedPath) ?? new Set()).add(findOwner(importingFile)));
  }
  const usesDriver = (file: string) =>
    imports.some(
      ({ importingFile, importedPath }) => importingFile === file && importedPath.startsWith('@neondatabase/'),
    );
  return [...users]
    .filter(([file, { size }]) => size === 1 && !users.get(file)?.has(getFolder(file)) && !usesDriver(file))
    .map(([file, [user]]) => `src/${file} is used by ${user} alone: it stands there.`);
}

const findOwner = (file: string): string => (getModule(file) ? `modules/${getModule(file)}` : getFolder(file));

/** Words of the domain. Only the file of failures may use them in the kernel, as failures are worded for every API. */
const DOMAIN_WORDS_PATTERN =
  /\w*(?:compan(?:y|ies)|dashboard|visualization|embed(?!ded)|outsider|viewer|tenant|polic(?:y|ies)|permission|principal|branding|\bsql)\w*/gi;

/** Returns one line for each word of the domain in the code of a `kernel` file. */
export function findDomainWords(file: string, text: string): string[] {
  if (!file.startsWith('kernel/') || file === 'kernel/failure.ts') return [];
  const domainWords = new Set([...removeComments(text).matchAll(DOMAIN_WORDS_PATTERN)].map(([word]) => word));
  return [...domainWords].map(
    (word) => `src/${file} speaks of ${word}: kernel/ knows no domain. Move it to a folder that does.`,
  );
}

/** Files that may call `fetch`: their addresses are chosen by the operator, or looked up and checked by `fetchOutside`. */
const OPERATOR_ADDRESS_CALLERS = /^(web\/|platform\/(outside-fetch|ai|mail-resend)\.ts$)/;

/** Returns one line for a file that calls `fetch` by itself, possibly on an address that a customer has chosen. */
export const findOwnFetches = (file: string, text: string): string[] =>
  !OPERATOR_ADDRESS_CALLERS.test(file) && /(?<![\w.])(?:globalThis\.)?fetch\(/.test(removeComments(text))
    ? [`src/${file} calls an address by itself. Use fetchOutside, which refuses what leads inside.`]
    : [];

/**
 * Returns one line for each table that a statement joins to a list by anything but `cross join`: SQLite might start with the
 * table, and search the list for each of its rows.
 */
export const findJoinedLists = (file: string, text: string): string[] =>
  [...text.matchAll(/\bfrom json_each\((?:(?!\bunion\b)[^`])*?(?<!cross )\bjoin \$\{(\w+)\}/g)].map(
    ([, table]) => `src/${file} joins ${table} to a list: write "cross join", so that the list is walked first.`,
  );

const removeComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, '');

/** Returns a message about the first import cycle between modules, with the import that closes it. */
function findCycle(imports: readonly Import[]): string[] {
  const edges = new Map<string, Map<string, Import>>();
  for (const importEntry of imports) {
    const [from, to] = [getModule(importEntry.importingFile), getModule(importEntry.importedPath)];
    if (from === undefined || to === undefined || from === to) continue;
    edges.set(from, (edges.get(from) ?? new Map()).set(to, importEntry));
  }
  const visitedModules = new Set<string>();
  const visitModule = (module: string, path: string[]): string[] => {
    for (const [next, { importingFile, importedPath }] of visitedModules.has(module) ? [] : (edges.get(module) ?? [])) {
      const importPath = [...path, module, next];
      const start = importPath.indexOf(next);
      if (start < importPath.length - 1) {
        const names = importPath.slice(start).join(' → ');
        return [
          `Modules form a circle, ${names}: src/${importingFile} imports ${importedPath}. Move what is shared to one end.`,
        ];
      }
      const cycle = visitModule(next, [...path, module]);
      if (cycle.length > 0) return cycle;
    }
    visitedModules.add(module);
    return [];
  };
  for (const module of edges.keys()) {
    const cycle = visitModule(module, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

/** Returns one line for each file snapshot, which `npm run contract` writes, outside a folder `generated/`. */
export const findMisplacedSnapshots = (file: string, text: string): string[] =>
  [...text.matchAll(/\.toMatchFileSnapshot\(\s*['`]([^'`]*)/g)]
    .map(([, path = '']) => path)
    .filter((path) => !/(^|\/)generated\//.test(path))
    .map((path) => `test/${file} writes ${path}: generated files stand in a folder generated/.`);

/** The files that may use HTTP globals: they send HTTP requests, or return responses of the runtime. */
const HTTP_LAYERS_PATTERN =
  /^(platform|tenant-sql|formats|http|web)\/|^modules\/.*\/routes\.[\w.-]+$|^(app|api|background|index|context)\.ts$/;

/** Returns one line for each use of HTTP globals in a file outside the HTTP layers. */
export function findHttpUses(file: string, text: string): string[] {
  if (HTTP_LAYERS_PATTERN.test(file)) return [];
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|`[^`]*`/g, '');
  const globalNames = new Set([...code.matchAll(/(?<![\w.])(?:Request|Response|Headers)\b/g)].map(([name]) => name));
  return [...globalNames].map(
    (name) =>
      `src/${file} uses ${name}: services know nothing of HTTP. Take a SentBody, answer a PreparedAnswer (kernel/files.ts).`,
  );
}

const getFolder = (file: string): string => file.split('/')[0] as string;
const getLayer = (file: string): number => LAYERS.findIndex((layer) => layer.includes(getFolder(file)));
const getModule = (file: string): string | undefined => /^modules\/([^/]+)\//.exec(file)?.[1];
const isPageImport = (to: string): boolean => /^(web|kernel|texts|presentation)\//.test(to) || !to.includes('.ts');
