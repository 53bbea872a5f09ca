/** Short texts of several kinds that a model can be measured on where none are given. */
export const sampleTexts: readonly string[] = [
  'The river had risen in the night. When Anna opened the shutters, the lower meadow was gone, and in its place lay a ' +
    'wide brown lake with the tops of the fence posts standing in two straight lines. Nobody in the house spoke. Her ' +
    'father put on his boots, took the long pole from the wall and went down to see whether the boat was still there.',
  'Photosynthesis turns the energy of light into chemical energy. In plants it takes place in the chloroplasts, where ' +
    'chlorophyll absorbs mostly red and blue light. Water is split, oxygen is set free, and the energy that was won is ' +
    'used to build sugar out of carbon dioxide. Almost all food on Earth comes from this process in the end.',
  'Question: A train leaves at 9:40 and arrives at 13:05. How long is the journey? Answer: From 9:40 to 13:00 there are ' +
    'three hours and twenty minutes. Five more minutes lead to 13:05. The journey takes 3 hours and 25 minutes, which is ' +
    '205 minutes. At an average of 96 kilometres per hour the train covers 328 kilometres.',
  'def median(values):\n    """Middle value of a list, or the mean of the two middle ones."""\n    ordered = ' +
    'sorted(values)\n    count = len(ordered)\n    if count == 0:\n        raise ValueError("no values")\n    half = count ' +
    '// 2\n    if count % 2 == 1:\n        return ordered[half]\n    return (ordered[half - 1] + ordered[half]) / 2\n',
  '– Good morning, what can I do for you? – I bought this lamp here last week, and it flickers. – I am sorry about that. ' +
    'Do you have the receipt with you? – Yes, here it is. – Thank you. I can give you a new one or your money back, ' +
    'whichever you prefer. – A new one, please. – Then let me see whether we have another in green.',
  'Preheat the oven to 200 °C. Peel the potatoes, cut them into thin slices and rub the dish with a clove of garlic. Lay ' +
    'the slices in rings, add salt, pepper and a little nutmeg, and pour the cream over them. Bake for fifty minutes, ' +
    'until the top is golden brown and a knife goes through without effort. Let it rest for five minutes before serving.',
  '{"name": "harbour", "open": true, "berths": [{"id": 1, "length": 12.5, "boat": "Mira"}, {"id": 2, "length": 9.0, ' +
    '"boat": null}, {"id": 3, "length": 15.25, "boat": "Nordlicht"}], "contact": {"phone": "+49 461 555", "hours": ' +
    '"08:00-18:00"}}',
  'The committee met on Tuesday to discuss the new timetable. Several members said that the last bus should leave later ' +
    'on Fridays; others pointed out that drivers were already hard to find. In the end it was agreed to try a later bus ' +
    'for three months and to count the passengers before deciding whether to keep it.',
]
