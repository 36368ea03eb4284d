import { counting } from '../counting.ts';
import type { PageTexts } from './en.ts';

const counted = counting('es');
const rows = (count: number) => counted(count, { one: 'fila', many: 'de filas', other: 'filas' });

export const texts: PageTexts = {
  dashboard: 'Panel',
  noScript: 'Esta página necesita JavaScript.',

  loading: 'Cargando…',
  wakingSince: (time) => `La base de datos se está activando. Datos de ${time}`,
  retry: 'Reintentar',
  noRows: 'No hay datos para estos filtros.',
  showTable: 'Ver como tabla',
  showChart: 'Ver como gráfico',
  moreRows: (left) =>
    `Mostrar más (${counted(left, { one: 'fila restante', many: 'de filas restantes', other: 'filas restantes' })})`,
  truncated: (shown) => `${rows(shown)}. Hay más datos de los que se muestran aquí.`,
  emptyDashboard: 'Todavía no hay nada en este panel.',

  download: 'Descargar',
  downloadOf: (name) => `Descargar: ${name}`,
  preparing: 'Se está preparando el archivo …',
  tooLongForXlsx: 'Un texto es demasiado largo para una celda de XLSX. En CSV cabe.',

  filters: 'Filtros',
  reset: 'Restablecer filtros',
  all: 'Todos',
  search: 'Buscar',
  searchIn: (label) => `Buscar: ${label}`,
  noOptions: 'No se encontró nada.',
  moreOptions: 'Hay más opciones: escribe para buscar.',
  typeValue: 'Escribe un valor y pulsa Intro.',
  clear: 'Borrar',
  rangeStart: (label) => `${label}, desde`,
  rangeEnd: (label) => `${label}, hasta`,
  required: (label) => `${label}: elige un valor para ver los datos.`,

  chartKinds: {
    line: 'gráfico de líneas',
    bar: 'gráfico de barras',
    area: 'gráfico de áreas',
    pie: 'gráfico circular',
    scatter: 'gráfico de dispersión',
    number: 'número',
    table: 'tabla',
  },
  chartOf: (name, kind, summary) => `${name}: ${kind}. ${summary}`,
  plotSummary: (names, more, x, values) =>
    `${names}${more ? '…' : ''} por ${x}, ${counted(values, { one: 'valor', many: 'de valores', other: 'valores' })}`,
  scatterSummary: (points, y, x) =>
    `${counted(points, { one: 'punto', many: 'de puntos', other: 'puntos' })}, ${y} por ${x}`,
  seriesCut: (drawn, series) => `Las primeras ${drawn} de ${series} series.`,
  missingColumn: 'El gráfico usa una columna que no existe en los datos; estos son los propios datos.',
  other: 'Otros',
  empty: '(vacío)',
  yes: 'verdadero',
  no: 'falso',

  unavailable: 'No hay nada que ver aquí',
  broken: 'Algo ha fallado por nuestra parte.',
  offline: 'No se puede conectar con el servidor. Comprueba tu conexión.',
  busy: 'Demasiadas solicitudes en este momento.',
  notFound: 'Esto no existe o no tienes acceso.',
  invalidValues: (labels) => `Revisa el valor de: ${labels}.`,
  failures: {
    TOKEN_INVALID: 'Este enlace no es válido o ha caducado. Pide uno nuevo a quien te lo envió.',
    ORIGIN_NOT_ALLOWED: 'Esta página no se puede mostrar aquí.',
    AUTH_REQUIRED: 'Inicia sesión para ver este contenido.',
    FORBIDDEN: 'No tienes acceso a este contenido.',
    INVALID_CONTEXT_ID: 'Esto no existe o no tienes acceso.',
    INVALID_CODE: 'Este código es incorrecto o ha caducado.',
    VALIDATION_ERROR: 'Uno de los valores no tiene el formato correcto.',
    SHARE_FILTER_POLICY_VIOLATION: 'Estos valores no se pueden elegir aquí.',
    FILTER_DISABLED_BY_POLICY: 'Este filtro no está disponible.',
    DOWNLOADS_DISABLED: 'Aquí no se pueden descargar los resultados.',
    DB_QUERY_ERROR: 'No se pudieron leer los datos.',
    SERVICE_UNAVAILABLE: 'No está disponible en este momento.',
  },

  signInTitle: 'Inicia sesión para ver este panel',
  signInFirst: 'Este panel se comparte con personas que inician sesión.',
  signIn: 'Iniciar sesión',
  signOut: 'Cerrar sesión',
  sharedDashboards: 'Paneles compartidos',
  allDashboards: 'Todos los paneles',
  noDashboards: 'En este momento no hay paneles compartidos contigo.',
  more: 'Mostrar más',
  sessionEnded: 'Tu sesión ha terminado: inicia sesión de nuevo.',
  codeExplained: 'Los paneles compartidos contigo se abren con un código que enviamos a tu correo electrónico.',
  email: 'Correo electrónico',
  sendCode: 'Enviar código',
  enterCode: 'Introduce el código',
  code: 'Código',
  codeSent: (email) => [
    'Si hay paneles compartidos con ',
    email,
    ', recibirás un código en esa dirección. Es válido durante diez minutos.',
  ],
  sendAnother: 'Enviar otro código',
  anotherSent: 'Te hemos enviado otro código.',
  otherAddress: 'Usar otra dirección',
};
