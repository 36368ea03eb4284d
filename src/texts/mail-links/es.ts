import type { MailLinkTexts } from './en.ts';

export const texts: MailLinkTexts = {
  name: 'Tu nombre',
  password: 'Contraseña',
  newPassword: 'Nueva contraseña',
  passwordRules:
    'Al menos 12 caracteres. No puede ser una de las contraseñas más comunes ni estar formada por tu nombre, correo o empresa.',
  show: 'Mostrar',
  hide: 'Ocultar',
  showPassword: 'Mostrar contraseña',
  hidePassword: 'Ocultar contraseña',
  sending: 'Un momento…',
  checkFields: 'Revisa lo que está marcado arriba.',

  invitation: {
    title: 'Aceptar una invitación',
    join: (company) => `Unirse a ${company}`,
    invited: (company, email) => [
      `Te han invitado a ${company} como `,
      email,
      '. Elige una contraseña para iniciar sesión.',
    ],
    invitedWithSso: (company, email) => [
      `Te han invitado a ${company} como `,
      email,
      '. Allí se inicia sesión con el proveedor de identidad de la empresa; aun así se define una contraseña, por si eso cambia.',
    ],
    goodUntil: (time) => `La invitación es válida hasta el ${time}.`,
    action: 'Unirme',
    done: (company) => `Te damos la bienvenida a ${company}`,
    doneText: 'Tu contraseña está definida. Ya puedes iniciar sesión.',
    dead: 'Esta invitación no se puede usar',
    deadWhy: 'Ya se aceptó, ha caducado o fue reemplazada por una más reciente.',
    deadWhatNow:
      '¿Ya la aceptaste? Entonces inicia sesión o define una nueva contraseña. Si no, pide una nueva invitación a quien te invitó.',
    incomplete: 'Falta una parte del enlace. Abre de nuevo el enlace del correo de invitación o cópialo entero.',
  },

  reset: {
    title: 'Definir una nueva contraseña',
    intro: (company, email) => ['Para ', email, ` en ${company}. Cuando la definas, se cerrarán todas tus sesiones.`],
    action: 'Definir contraseña',
    done: 'Tu nueva contraseña está definida',
    doneText: 'Se han cerrado todas tus sesiones. Inicia sesión con la nueva contraseña.',
    dead: 'Este enlace no se puede usar',
    deadWhy: 'Ya se usó, ha caducado o fue reemplazado por uno más reciente. Pide otro:',
    request: 'Te enviamos un enlace con el que eliges una nueva contraseña.',
    requestAction: 'Enviar enlace',
    requested: 'Revisa tu correo',
    requestedText: (email) => [
      'Si ',
      email,
      ' puede iniciar sesión con contraseña, recibirá un enlace en esa dirección. Funciona una sola vez, durante una hora.',
    ],
    ssoOnly: 'No hay contraseña que definir',
  },

  bySso: (company) => `Inicia sesión con el proveedor de identidad de ${company}.`,
  secondFactor:
    'Cuando inicies sesión por primera vez, configurarás un segundo factor, como una aplicación que muestra códigos.',
  appsAsk: 'Las aplicaciones que usan este sistema piden estos datos y tu contraseña:',
  company: 'Empresa',
  server: 'Servidor',
  howToSignIn: 'Cómo inician sesión las aplicaciones',
};
