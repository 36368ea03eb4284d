import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { marked } from 'marked';
import { AUTHORIZATION_TEXTS } from '../texts/authorization/languages.ts';
import { DEFAULT_LOCALE, LOCALES, type Locale } from '../texts/locales.ts';
import { MAIL_LINK_TEXTS } from '../texts/mail-links/languages.ts';
import { PAGE_TEXTS } from '../texts/pages/languages.ts';

const SOURCE_FOLDER = import.meta.dirname;
const PROJECT_FOLDER = join(SOURCE_FOLDER, '..', '..');

/** The folder with the pages' assets, which wrangler.toml names. */
const OUTPUT_FOLDER = join(PROJECT_FOLDER, 'dist', 'web');

interface Page {
  getTitle: (locale: Locale) => string;
  /** The chunks that the page always needs. */
  preloadedChunks?: string[];
  /**
   * The source of the page's texts: the folders of `src/texts` that its script loads, or the server for a page without a script's
   * texts.
   */
  texts: string[] | 'server' | 'none';
  /** Set for pages of mailed links and similar ones: before its script runs, such a page says that it is loading. */
  showsLoading?: true;
}

/** The pages by name. The description of the API is in English. */
const PAGES = {
  view: {
    getTitle: (locale) => PAGE_TEXTS[locale].dashboard,
    preloadedChunks: ['src/web/charts/draw.ts'],
    texts: ['pages'],
  },
  portal: { getTitle: (locale) => PAGE_TEXTS[locale].sharedDashboards, texts: ['pages'] },
  'accept-invitation': {
    getTitle: (locale) => MAIL_LINK_TEXTS[locale].invitation.title,
    texts: ['pages', 'mail-links'],
    showsLoading: true,
  },
  'reset-password': {
    getTitle: (locale) => MAIL_LINK_TEXTS[locale].reset.title,
    texts: ['pages', 'mail-links'],
    showsLoading: true,
  },
  authorization: {
    getTitle: (locale) => AUTHORIZATION_TEXTS[locale].title,
    texts: ['pages', 'mail-links', 'authorization'],
    showsLoading: true,
  },
  plain: { getTitle: () => '<!--title-->', texts: 'server' },
  docs: { getTitle: () => 'Data Console API', texts: 'none' },
} satisfies Record<string, Page>;

type PageName = keyof typeof PAGES;

/**
 * The headers of assets. They are cached for a day only, since the headers also apply to a 404 while a version with new assets is
 * rolled out.
 */
const ASSET_HEADERS = `/assets/*
  Cache-Control: public, max-age=86400
  X-Content-Type-Options: nosniff
`;

/** The pattern of the template's part for browsers without scripts. */
const NO_SCRIPT_PATTERN = /<noscript>.*<\/noscript>\n/;

/** The element into which a page's script puts its content. */
const EMPTY_PAGE_ELEMENT = '<div id="page"></div>';

/** Makes the element with the text to show until the script runs. */
const makeWaitingElement = (loadingText: string): string =>
  `<div id="page"><main class="message" aria-busy="true"><p class="waiting" role="status">${loadingText}</p></main></div>`;

/**
 * Builds the pages for the browser into `dist/web`: scripts and styles with content-hashed names under `assets/`, and the pages
 * that refer to them under `pages/`. Builds of the same sources may run at the same time: new files have names of their own, and
 * old ones are removed only afterwards.
 */
export async function buildPages(): Promise<void> {
  const pages = Object.keys(PAGES) as PageName[];
  const isLinkPage = (page: PageName) => (PAGES[page] as Page).showsLoading === true;
  // What pages share is a script of its own, and a request: those that nobody opens one after the other share nothing.
  const groups = [pages.filter((page) => !isLinkPage(page)), pages.filter(isLinkPage)];
  const builtGroups = await Promise.all(groups.map(async (group) => ({ group, ...(await bundlePages(group)) })));
  const component = await buildComponentScript();
  const icon = await readFile(join(SOURCE_FOLDER, 'icon.svg'));
  const iconPath = `assets/icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
  const files = new Map<string, Uint8Array | string>([
    ...builtGroups.flatMap(({ outputFiles }) =>
      outputFiles.map(({ path, contents }) => [relative(OUTPUT_FOLDER, path), contents] as const),
    ),
    [iconPath, icon],
    [`embed/${component.name}`, component.script],
    ['embed/current', component.name],
    ['_headers', ASSET_HEADERS],
  ]);
  const template = await readFile(join(SOURCE_FOLDER, 'page.html'), 'utf8');
  for (const [page, metafile] of builtGroups.flatMap(({ group, metafile }) =>
    group.map((page) => [page, metafile] as const),
  )) {
    const { getTitle, texts, showsLoading }: Page = PAGES[page];
    for (const locale of texts === 'none' ? [DEFAULT_LOCALE] : LOCALES) {
      const html = template
        .replace('lang="en"', `lang="${locale}"`)
        .replace('{{title}}', getTitle(locale))
        .replace(NO_SCRIPT_PATTERN, (noScriptElement) =>
          texts === 'server' ? '' : noScriptElement.replace('{{noScript}}', PAGE_TEXTS[locale].noScript),
        )
        .replace(EMPTY_PAGE_ELEMENT, (emptyElement) =>
          showsLoading ? makeWaitingElement(PAGE_TEXTS[locale].loading) : emptyElement,
        )
        .replace('{{icon}}', `/${iconPath}`)
        .replace('{{head}}', buildHead(page, locale, metafile));
      files.set(`pages/${page}.${locale}.html`, html);
    }
  }
  await writeFiles(files);
}

/** Bundles the scripts and styles of pages, which share common chunks. */
const bundlePages = (pages: readonly PageName[]) =>
  build({
    absWorkingDir: PROJECT_FOLDER,
    entryPoints: pages.map((page) => `src/web/${page}/main.ts`),
    outdir: 'dist/web/assets',
    entryNames: '[dir]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    metafile: true,
    write: false,
    legalComments: 'none',
    logLevel: 'silent',
    tsconfig: 'src/web/tsconfig.json',
    alias: { '@kurkle/color': './src/web/charts/colour.ts' },
    plugins: [GUIDES_PLUGIN, USED_SCALES_PLUGIN],
  });

/** The plugin that converts guides to HTML, so that no page loads a Markdown parser. */
const GUIDES_PLUGIN: Plugin = {
  name: 'guides',
  setup({ onLoad }) {
    onLoad({ filter: /\.md$/ }, async ({ path }) => ({
      contents: rewriteGuideLinks(await marked.parse(await readFile(path, 'utf8'))),
      loader: 'text',
    }));
  },
};

/** The scales of Chart.js that no chart uses. Their definitions read other values, so that esbuild keeps them in every bundle. */
const UNUSED_SCALES = ['LogarithmicScale', 'RadialLinearScale', 'TimeScale', 'TimeSeriesScale'];

/** The plugin that removes the content of unused scales: a tenth of what a page loads until its first chart. */
const USED_SCALES_PLUGIN: Plugin = {
  name: 'used-scales',
  setup({ onLoad }) {
    onLoad({ filter: /\/chart\.js\/dist\/chart\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const name of UNUSED_SCALES) {
        const reducedContents = contents.replace(new RegExp(`^class ${name} .*?^}`, 'ms'), `class ${name} {}`);
        if (reducedContents === contents) throw new Error(`Chart.js has no class ${name}.`);
        contents = reducedContents;
      }
      return { contents };
    });
  },
};

/** Turns links to other guides into links on the same page. Other files of the repository are only named, not linked. */
const rewriteGuideLinks = (html: string): string =>
  html.replaceAll(/<a href="([^"]*)"/g, (_, href: string) => {
    const [, folder, guide] = /(?:([\w-]+)\/)?([\w-]+)\.md$/.exec(href) ?? [];
    return guide ? `<a href="#${guide === 'README' ? folder : guide}"` : '<a';
  });

/** Bundles the web component for other sites' embeds. The result is one file, whose name changes with its content. */
async function buildComponentScript(): Promise<{ name: string; script: Uint8Array }> {
  const { outputFiles } = await build({
    absWorkingDir: PROJECT_FOLDER,
    entryPoints: { component: 'embed/index.js' },
    outdir: 'dist/web/embed',
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    write: false,
    logLevel: 'silent',
  });
  const [file] = outputFiles;
  if (!file) throw new Error('The component was not built.');
  return { name: basename(file.path), script: file.contents };
}

/** Builds the links to a page's script and styles, and to the chunks that it will request next. */
function buildHead(page: PageName, locale: Locale, { outputs }: Metafile): string {
  const findOutput = (entry: string) => Object.entries(outputs).find(([, output]) => output.entryPoint === entry);
  const [script, output] = findOutput(`src/web/${page}/main.ts`) ?? [];
  if (!script || !output) throw new Error(`The page ${page} was not built.`);
  const { preloadedChunks = [], texts }: Page = PAGES[page];
  const textChunks = Array.isArray(texts) ? texts.map((folder) => `src/texts/${folder}/${locale}.ts`) : [];
  const toUrl = (path: string) => `/${relative('dist/web', path)}`;
  const listImports = (path: string) =>
    outputs[path]?.imports.flatMap((importedChunk) =>
      importedChunk.kind === 'import-statement' ? [importedChunk.path] : [],
    ) ?? [];
  const laterChunks = [...preloadedChunks, ...textChunks].flatMap((entry) => findOutput(entry)?.[0] ?? []);
  const preloadedPaths = new Set([script, ...laterChunks].flatMap((path) => [path, ...listImports(path)]));
  preloadedPaths.delete(script);
  return [
    ...(output.cssBundle ? [`<link rel="stylesheet" href="${toUrl(output.cssBundle)}">`] : []),
    ...Array.from(preloadedPaths, (path) => `<link rel="modulepreload" href="${toUrl(path)}">`),
    `<script type="module" src="${toUrl(script)}"></script>`,
  ].join('\n');
}

async function writeFiles(files: Map<string, Uint8Array | string>): Promise<void> {
  for (const [path, content] of files) {
    const targetPath = join(OUTPUT_FOLDER, path);
    const existingContent = await readFile(targetPath).catch(() => undefined);
    if (existingContent && Buffer.compare(existingContent, Buffer.from(content)) === 0) continue;
    await mkdir(dirname(targetPath), { recursive: true });
    await writeFile(targetPath, content);
  }
  for (const entry of await readdir(OUTPUT_FOLDER, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !files.has(relative(OUTPUT_FOLDER, path))) await rm(path, { force: true });
  }
}

if (import.meta.main) await buildPages();
