/** VitePress's own theme, with room for long formulas. */
import DefaultTheme from 'vitepress/theme'
import './formulas.css'

export default DefaultTheme
