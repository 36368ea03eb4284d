import { createCountFormatter } from '../plurals.ts';
import type { MailTexts } from './en.ts';

const formatCount = createCountFormatter('es');
const formatMinutes = (count: number) => formatCount(count, { one: 'minuto', many: 'de minutos', other: 'minutos' });
const formatDays = (count: number) => formatCount(count, { one: 'día', many: 'de días', other: 'días' });

export const texts: MailTexts = {
  greeting: (name) => (name === '' ? 'Hola:' : `Hola, ${name}:`),
  yes: 'Sí',
  no: 'No',
  aCompany: 'una empresa',
  somebody: 'Alguien',
  aServiceAccount: 'Una cuenta de servicio',
  codeRules: (minutes) =>
    `Funciona una sola vez, durante ${formatMinutes(minutes)}. Un código más reciente lo reemplaza.`,

  signInCode: {
    subject: (company) => `Tu código de acceso a ${company}`,
    before: (company) => `Este es tu código para iniciar sesión en ${company}:`,
    unasked:
      '¿No has pedido un código? Entonces otra persona ha escrito tu dirección. Nadie puede iniciar sesión sin el código: no se lo des a nadie y no tendrás que hacer nada más.',
  },
  portalCode: {
    subject: (company) => `Tu código para los paneles de ${company}`,
    before: (company) => `Este es tu código para ver los paneles que ${company} comparte contigo:`,
    unasked:
      '¿No has pedido un código? Entonces otra persona ha escrito tu dirección. Nadie puede acceder sin el código: no se lo des a nadie y no tendrás que hacer nada más.',
  },
  passwordReset: {
    subject: (company) => `Define una nueva contraseña para ${company}`,
    before: (company) => `Abre este enlace para definir una nueva contraseña para ${company}:`,
    label: 'Definir nueva contraseña',
    rules: (minutes) =>
      `Funciona una sola vez, durante ${formatMinutes(minutes)}. Cuando definas la nueva contraseña, se cerrarán todas tus sesiones.`,
    unasked:
      '¿No has pedido esto? Entonces otra persona ha escrito tu dirección. Tu contraseña no cambia: elimina este correo y no tendrás que hacer nada más.',
  },
  invitation: {
    subject: (company) => `Te han invitado a ${company}`,
    before: (inviter, company) =>
      `${inviter} te ha invitado a ${company}. Abre este enlace para elegir una contraseña y unirte:`,
    label: (company) => `Unirme a ${company}`,
    rules: (days) => `Funciona una sola vez, durante ${formatDays(days)}. Una invitación más reciente lo reemplaza.`,
    unasked:
      '¿No sabes de quién es esta invitación? Entonces elimina este correo: ninguna cuenta se puede usar hasta que alguien abra el enlace.',
  },
  notice: {
    subject: (company) => `Ha cambiado la forma de iniciar sesión en ${company}`,
    events: {
      sso_changed: (by, company, time) =>
        `${by} ha establecido el proveedor de identidad con el que se inicia sesión en ${company}, el ${time}.`,
      sso_removed: (by, company, time) =>
        `${by} ha quitado el proveedor de identidad con el que se iniciaba sesión en ${company}, el ${time}.`,
      social_changed: (by, company, time) =>
        `${by} ha establecido los proveedores cuyos inicios de sesión acepta ${company}, el ${time}.`,
    },
    why: 'Quien controla un proveedor puede iniciar sesión como cualquier persona cuya dirección este confirme. Recibes este correo porque eres la persona propietaria o administras la empresa.',
    unmeant:
      '¿No debería haber ocurrido? Entonces establece el proveedor correcto en la consola, cierra las sesiones de quien lo hizo y revisa el registro de auditoría.',
  },
  webhookDisabled: {
    subject: (company) => `Se desactivó un endpoint de webhook de ${company}`,
    reasons: {
      gone: (host, company) =>
        `El endpoint de webhook de ${company} en ${host} se desactivó: respondió que ya no existe (410).`,
      failing: (host, company) =>
        `El endpoint de webhook de ${company} en ${host} se desactivó: durante días solo respondió con fallos.`,
    },
    rules:
      'No se le envía nada hasta que alguien ponga su estado en activo. Lo que falló puede entonces reenviarse durante 30 días. Recibes este correo porque eres propietario o administrador.',
  },
  security: {
    changes: {
      password_changed: {
        subject: 'Tu contraseña ha cambiado',
        sentence: (company) => `Tu contraseña de ${company} ha cambiado.`,
      },
      second_factor_enabled: {
        subject: 'Se ha activado tu segundo factor',
        sentence: (company) =>
          `A partir de ahora, para iniciar sesión en ${company} hace falta un código de tu aplicación de autenticación.`,
      },
      second_factor_disabled: {
        subject: 'Se ha desactivado tu segundo factor',
        sentence: (company) => `Para iniciar sesión en ${company} ya no hace falta un segundo factor.`,
      },
      second_factor_reset: {
        subject: 'Se ha quitado tu segundo factor',
        sentence: (company) => `Un administrador de ${company} ha quitado tu segundo factor.`,
      },
      backup_codes_renewed: {
        subject: 'Tienes nuevos códigos de recuperación',
        sentence: (company) =>
          `Se ha generado un nuevo conjunto de códigos de recuperación para tu cuenta en ${company}; los anteriores han dejado de funcionar.`,
      },
      passkey_added: {
        subject: 'Tienes una nueva llave de acceso',
        sentence: (company) =>
          `Se ha añadido una llave de acceso a tu cuenta en ${company}. Con ella inicias sesión sin contraseña.`,
      },
      passkey_renamed: {
        subject: 'Una de tus llaves de acceso tiene otro nombre',
        sentence: (company) => `Una llave de acceso de tu cuenta en ${company} tiene ahora otro nombre.`,
      },
      passkey_removed: {
        subject: 'Se ha eliminado una de tus llaves de acceso',
        sentence: (company) =>
          `Se ha eliminado una llave de acceso de tu cuenta en ${company}. Ya nadie inicia sesión con ella.`,
      },
    },
    sessions: 'En los demás lugares donde tenías la sesión abierta, tendrás que iniciarla de nuevo.',
    unmeant:
      '¿No has sido tú? Entonces define una nueva contraseña de inmediato y avisa a un administrador de tu empresa.',
  },
  letIn: {
    subject: (company) => `Se dio acceso a un programa: ${company}`,
    before: (program, company, time) =>
      `El ${time}, “${program}” obtuvo acceso a ${company} en tu nombre. Puede hacer lo que autorizaste mientras siga usándolo.`,
    from: (host) => `Dice venir de: ${host}`,
    after:
      '¿No fuiste tú? Entonces termina su acceso de inmediato, define una nueva contraseña y avisa a un administrador de tu empresa.',
  },
  schedule: {
    subject: (name, company) => `${name} — ${company}`,
    aReport: 'Un informe',
    before: (name, company, time) => `Este es «${name}» de ${company}, con los datos del ${time}.`,
    alert: (name, company, time) => `Se cumple la condición de «${name}» de ${company}, con los datos del ${time}.`,
    empty: 'Ninguna fila.',
    failed: 'No se pudo calcular este elemento.',
    notShown: 'No tienes acceso a este elemento.',
    moreRows: (count) => `${formatCount(count, { one: 'fila más', other: 'filas más' })}.`,
    atLeastMoreRows: (count) => `Más de ${formatCount(count, { one: 'fila más', other: 'filas más' })}.`,
    moreColumns: (count) => `${formatCount(count, { one: 'columna más', other: 'columnas más' })}.`,
    leftOut: (names) => `No está en este correo, que sería demasiado largo: ${names}.`,
    attached: (names) => `Adjunto: ${names}.`,
    cut: 'El archivo solo tiene las primeras filas.',
    tooLarge: (names, mebibytes) =>
      `Demasiado grande para un correo, cuyos archivos pueden tener ${mebibytes} MiB en total: ${names}.`,
    seeAll: 'Verlo todo',
    noFiles: 'Puedes ver esto, pero no descargarlo: aquí está el resumen en lugar de los archivos.',
    why: (company) => `Recibes este correo porque alguien de ${company} lo programó para ti.`,
    unsubscribe: 'Dejar de recibirlo',
  },
  scheduleConsent: {
    subject: (company) => `¿Quieres recibir correos de ${company}?`,
    before: (company) =>
      `Alguien de ${company} quiere enviarte informes por correo. Abre este enlace si quieres recibirlos:`,
    label: 'Responder sí o no',
    otherwise: (company) =>
      `Si no haces nada, ${company} no te enviará informes y no se te volverá a preguntar. ¿No conoces ${company}? Entonces elimina este correo.`,
    why: (company) => `Recibes este correo una sola vez, porque alguien de ${company} ha escrito tu dirección.`,
    never: 'No recibir nunca informes de esta empresa',
  },
  schedulePaused: {
    subject: (name, company) => `«${name}» está en pausa — ${company}`,
    before: (name, company) =>
      `«${name}», que programaste en ${company}, falló tres veces seguidas. Está en pausa: ya nadie lo recibe.`,
    beforeToAdministrators: (name, company) =>
      `«${name}», un envío programado de ${company}, falló tres veces seguidas. Está en pausa: ya nadie lo recibe.`,
    problems: {
      target_deleted: 'Lo que envía se eliminó.',
      left: 'Un destinatario dejó la empresa.',
      not_allowed: 'Un destinatario no tiene acceso a lo que envía.',
      parameters: 'Sus parámetros ya no sirven para lo que envía.',
      query_failed: 'No se pudo calcular lo que envía.',
      condition_failed: 'No se pudo comprobar su condición: la columna ya no existe o es de otro tipo.',
      unavailable: 'No se pudo acceder a la base de datos.',
      mail_refused: 'El servicio de correo no aceptó el mensaje.',
      unconfirmed: 'El servicio de correo no dijo si aceptó el mensaje.',
    },
    what: 'Corrígelo en la consola y vuelve a activarlo.',
    whyAdministrators:
      'Recibes este correo porque eres propietario o administrador, y quien lo programó no recibe correo: es un programa o un usuario inactivo.',
  },
  pages: {
    unsubscribe: {
      title: 'Dejar de recibir',
      question: '¿Ya no quieres recibir este correo?',
      questionAll: (company) => `¿Quieres no recibir nunca más informes de ${company} por correo?`,
      button: 'Dejar de recibirlo',
      buttonAll: (company) => `Dejar todos los informes de ${company}`,
      done: 'Listo: no volverás a recibir este correo.',
      doneAll: (company) => `Listo: ya no recibirás informes de ${company} por correo.`,
      unknown: 'No hay nada que cancelar: este enlace está incompleto o ya no estás en la lista.',
    },
    consent: {
      title: 'Informes por correo',
      question: (company) =>
        `${company} quiere enviarte informes por correo. ¿Quieres recibirlos? Cada uno se puede cancelar con un clic.`,
      yes: 'Sí, quiero recibirlos',
      no: (company) => `No, nunca de ${company}`,
      done: (company) =>
        `Gracias: a partir de ahora ${company} puede enviarte informes. Cada uno tiene un enlace para cancelarlos.`,
      unknown: 'No hay nada que responder aquí: este enlace está incompleto o has cancelado estos correos.',
    },
  },
};
