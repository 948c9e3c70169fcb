import './signin.js';
