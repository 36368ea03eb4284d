import { counting } from '../counting.ts';
import type { PageTexts } from './en.ts';

const counted = counting('pt-BR');
const rows = (count: number) => counted(count, { one: 'linha', many: 'de linhas', other: 'linhas' });

export const texts: PageTexts = {
  dashboard: 'Painel',
  noScript: 'Esta página precisa de JavaScript.',

  loading: 'Carregando…',
  wakingSince: (time) => `O banco de dados está sendo ativado. Dados de ${time}`,
  retry: 'Tentar novamente',
  noRows: 'Não há dados para estes filtros.',
  showTable: 'Ver como tabela',
  showChart: 'Ver como gráfico',
  moreRows: (left) =>
    `Mostrar mais (${counted(left, { one: 'linha restante', many: 'de linhas restantes', other: 'linhas restantes' })})`,
  truncated: (shown) => `${rows(shown)}. Há mais dados do que os exibidos aqui.`,
  emptyDashboard: 'Ainda não há nada neste painel.',

  download: 'Baixar',
  downloadOf: (name) => `Baixar: ${name}`,
  preparing: 'O arquivo está sendo preparado …',
  tooLongForXlsx: 'Um texto é longo demais para uma célula de XLSX. Em CSV ele cabe.',

  filters: 'Filtros',
  reset: 'Redefinir filtros',
  all: 'Todos',
  search: 'Buscar',
  searchIn: (label) => `Buscar: ${label}`,
  noOptions: 'Nada encontrado.',
  moreOptions: 'Há mais opções: digite para buscar.',
  typeValue: 'Digite um valor e pressione Enter.',
  clear: 'Limpar',
  rangeStart: (label) => `${label}, de`,
  rangeEnd: (label) => `${label}, até`,
  required: (label) => `${label}: escolha um valor para ver os dados.`,

  chartKinds: {
    line: 'gráfico de linhas',
    bar: 'gráfico de barras',
    area: 'gráfico de área',
    pie: 'gráfico de pizza',
    scatter: 'gráfico de dispersão',
    number: 'número',
    table: 'tabela',
  },
  chartOf: (name, kind, summary) => `${name}: ${kind}. ${summary}`,
  plotSummary: (names, more, x, values) =>
    `${names}${more ? '…' : ''} por ${x}, ${counted(values, { one: 'valor', many: 'de valores', other: 'valores' })}`,
  scatterSummary: (points, y, x) =>
    `${counted(points, { one: 'ponto', many: 'de pontos', other: 'pontos' })}, ${y} por ${x}`,
  seriesCut: (drawn, series) => `As primeiras ${drawn} de ${series} séries.`,
  missingColumn: 'O gráfico usa uma coluna que não existe nos dados; estes são os próprios dados.',
  other: 'Outros',
  empty: '(vazio)',
  yes: 'verdadeiro',
  no: 'falso',

  unavailable: 'Não há nada para ver aqui',
  broken: 'Algo deu errado do nosso lado.',
  offline: 'Não foi possível acessar o servidor. Verifique sua conexão.',
  busy: 'Muitas solicitações no momento.',
  notFound: 'Isto não existe ou você não tem acesso.',
  invalidValues: (labels) => `Verifique o valor de: ${labels}.`,
  failures: {
    TOKEN_INVALID: 'Este link não é válido ou expirou. Peça um novo a quem o enviou.',
    ORIGIN_NOT_ALLOWED: 'Esta página não pode ser exibida aqui.',
    AUTH_REQUIRED: 'Entre para ver este conteúdo.',
    FORBIDDEN: 'Você não tem acesso a este conteúdo.',
    INVALID_CONTEXT_ID: 'Isto não existe ou você não tem acesso.',
    INVALID_CODE: 'Este código está incorreto ou expirou.',
    VALIDATION_ERROR: 'Um dos valores não está no formato correto.',
    SHARE_FILTER_POLICY_VIOLATION: 'Estes valores não podem ser escolhidos aqui.',
    FILTER_DISABLED_BY_POLICY: 'Este filtro não está disponível.',
    DOWNLOADS_DISABLED: 'Aqui não é possível baixar os resultados.',
    DB_QUERY_ERROR: 'Não foi possível ler os dados.',
    SERVICE_UNAVAILABLE: 'Indisponível no momento.',
  },

  signInTitle: 'Entre para ver este painel',
  signInFirst: 'Este painel é compartilhado com pessoas que se identificam.',
  signIn: 'Entrar',
  signOut: 'Sair',
  sharedDashboards: 'Painéis compartilhados',
  allDashboards: 'Todos os painéis',
  noDashboards: 'Nenhum painel está compartilhado com você no momento.',
  more: 'Mostrar mais',
  sessionEnded: 'Sua sessão terminou: entre novamente.',
  codeExplained: 'Os painéis compartilhados com você são abertos com um código que enviamos para o seu e-mail.',
  email: 'E-mail',
  sendCode: 'Enviar código',
  enterCode: 'Digite o código',
  code: 'Código',
  codeSent: (email) => [
    'Se houver painéis compartilhados com ',
    email,
    ', um código está a caminho desse endereço. Ele vale por dez minutos.',
  ],
  sendAnother: 'Enviar outro código',
  anotherSent: 'Outro código está a caminho.',
  otherAddress: 'Usar outro endereço',
};
