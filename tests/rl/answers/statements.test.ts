/** Ways to state an answer, a line each with the answer before ⇐: those that earn, and those of another value with its digits. */
import { describe, expect, test } from 'vitest'
import { paid, type Pair } from './paid.ts'

const byBoth = String.raw`
  8 ⇐ #### 8 ¦ #### 8 apples ¦ #### $8 ¦ #### 8% ¦ #### 8 per week ¦ So, 8 ¦ The answer is 8. ¦ Answer: 8 ¦ Final answer: 8 ¦ **Final answer: 8** ¦ Therefore, the answer is 8 dollars.
  8 ⇐ Thus, there are 8 apples remaining. ¦ He needs 8 more. ¦ He needs 8 more apples. ¦ It takes 8 hours to finish. ¦ It takes 8 hours. ¦ She needs to bake 8 cakes. ¦ There are 8 of them. ¦ There are 8 in total.
  8 ⇐ There are 8 in all. ¦ There are 8 left. ¦ There are 8 altogether. ¦ She sold 8 clips altogether in April and May. ¦ The total is 8 ¦ The total is: 8 ¦ total = 8 ¦ x = 8 ¦ So x=8. ¦ Hence, $x = 8$. ¦ \boxed{8}
  8 ⇐ \[\boxed{8}\] ¦ $\boxed{8}$. ¦ So the final result is \(\boxed{8}\). ¦ \boxed{8\text{ apples}} ¦ \boxed{8 \text{ cm}} ¦ \boxed{8\,\text{cm}} ¦ \boxed{8~\mathrm{cm}} ¦ \boxed{8\ \mathrm{km/h}} ¦ \boxed{8^\circ}
  8 ⇐ \boxed{\$8} ¦ \boxed{8.00} ¦ \boxed{8.} ¦ \boxed{ 8 } ¦ \boxed{x = 8} ¦ <answer>8</answer> ¦ <answer> 8 apples </answer> ¦ eight ¦ The answer is eight. ¦ 8 ¦ "8" ¦ “8” ¦ 8 ✓ ¦ ✅ 8 ¦ → 8 ¦ => 8 ¦ Result: **8**
  8 ⇐ * 8 ¦ • 8 ¦ Answer — 8 ¦ Answer: $8$ ¦ Answer: $8 ¦ Answer: \$8 ¦ the answer is: 8 ¦ The answer is $8. ¦ The answer is 8 (eight). ¦ The answer is 8 (see above). ¦ The answer is 8, as 3 + 5 = 8.
  8 ⇐ The answer is 8 because 16/2=8. ¦ So they each get 8. ¦ Each child gets 8 sweets. ¦ Each gets 8. ¦ So there were 8 boys. ¦ The perimeter is 8 cm. ¦ The area is 8 square meters. ¦ The area is 8 m².
  8 ⇐ The area is 8 m^2 ¦ The speed is 8 km/h. ¦ The speed is 8 miles per hour. ¦ It costs $8 per kilogram. ¦ It costs 8 dollars per kg ¦ It costs 8 dollars each. ¦ It costs 8 dollars a piece ¦ He earns $8 an hour.
  8 ⇐ He earns $8 per hour. ¦ He earns 8 dollars a day. ¦ The probability is 8%. ¦ 8 percent ¦ He ran for 8 minutes. ¦ He ran 8 miles in total ¦ He was 8 years old. ¦ Tom is 8. ¦ Tom is 8 years old now.
  8 ⇐ The number of apples is 8. ¦ The sum is 8. ¦ The product is 8. ¦ The sum of 3 and 5 is 8. ¦ 3 times more than 2 plus 2 is 8 ¦ The difference is 8 ¦ The mean is 8 ¦ The median is 8. ¦ Half of 16 is 8.
  8 ⇐ Twice 4 is 8. ¦ 16 divided by 2 is 8. ¦ 16/2 = 8 ¦ 2 x 4 = 8 ¦ 2 × 4 = 8 ¦ 2*4=8 ¦ 2 \times 4 = 8 ¦ $2 \cdot 4 = 8$ ¦ $$x = 8$$ ¦ \[ x = 8 \] ¦ \(x=8\) ¦ 10 - 2 = 8 ¦ 48 / 6 = 8 groups ¦ He paid 8 euros.
  8 ⇐ He paid €8. ¦ He paid 8€. ¦ 8 USD ¦ USD 8 ¦ 8 pounds ¦ £8 ¦ 8 kg ¦ 8kg ¦ 8 g ¦ 8 L ¦ 8 liters of water ¦ 8 cups of flour ¦ 8 more days ¦ 8 days ¦ 8 weeks ¦ 8 years ¦ 8 people ¦ 8 students ¦ 8 children
  8 ⇐ 8 cookies left ¦ 8 red marbles ¦ 8 gallons ¦ 8 inches ¦ 8 in. ¦ 8 ft ¦ 8 feet ¦ 8 V ¦ 8 Ω ¦ 8 K ¦ 8 N ¦ 8 °C ¦ 8 degrees ¦ 8 units ¦ 8 square units ¦ 8 cubic feet ¦ 8 cm^3 ¦ 8 boxes of pencils ¦ 8 pairs
  8 ⇐ 8 trips ¦ 8 times ¦ 8 points ¦ 8 rounds ¦ 8 pages per day ¦ 8 slices each ¦ Therefore 8 is the answer. ¦ The answer: 8 apples. ¦ I get 8. ¦ We get 8 ¦ This gives 8. ¦ which equals 8 ¦ which is equal to 8.
  8 ⇐ equal to 8 ¦ It must be 8. ¦ It should be 8 ¦ he has 8 left over ¦ In the end, he has 8. ¦ In 2 years he will be 8. ¦ After 2 hours, 8 remain. ¦ Before 2020 there were 8. ¦ From 10 apples he eats 2, so 8.
  8 ⇐ #### 8.0 ¦ #### 8. ¦ ####8 ¦ #### \$8 ¦ Step 3: 8 ¦ The final answer is $\boxed{8}$. I hope it is correct. ¦ The answer is $\boxed{8}$ dollars. ¦ \boxed{8} apples ¦ **8** ¦ Thus \boxed{8} ¦ ***8*** ¦ 8 (eight)
  8 ⇐ approximately 8 ¦ about 8 ¦ ~8 ¦ ≈ 8 ¦ exactly 8 ¦ only 8 ¦ just 8 ¦ total of 8 ¦ a total of 8 apples ¦ for a total of $8 ¦ for 8 dollars ¦ by 8 dollars ¦ increase of 8 ¦ The remainder is 8. ¦ The GCD is 8.
  8 ⇐ \gcd(16,24) = 8 ¦ f(2) = 8 ¦ f(3)=8 ¦ \log_2 256 = 8 ¦ \sqrt{64} = 8 ¦ √64 = 8 ¦ 2^3 = 8 ¦ 2**3 = 8 ¦ sqrt(64) = 8 ¦ The square root of 64 is 8. ¦ |−8| = 8 ¦ \frac{16}{2} = 8 ¦ $\frac{16}{2}=8$ apples
  8 ⇐ x + 2 = 10, so x = 8 ¦ n = 8. ¦ y=8 ¦ \therefore x=8 ¦ So, $8$. ¦ so 8. ¦ 8 \quad ¦ 8\, ¦ 8 \text{ units} ¦ 8 each ¦ 8 apiece ¦ 8 per person ¦ 8 in total ¦ Case 1 gives nothing; the answer is 8.
  8 ⇐ The smallest is 8. ¦ The largest is 8 ¦ At least one is needed: the answer is 8. ¦ He needs at least $3, and gets $8. ¦ Yes, 8. ¦ No, it is 8. ¦ Not 7 but 8. ¦ it is not 7, it is 8 ¦ Is it 7? No, it is 8.
  8 ⇐ How many? 8 ¦ How many apples does she have? 8 ¦ What is 3+5? The answer is 8. ¦ The answer is 8. Do you see why? ¦ He scored $8$. ¦ The answer is 8 for each child. ¦ The answer is 8 in each box.
  8 ⇐ It is 8 on average. ¦ It is 8 at the end. ¦ The answer is 8 by the end of the day. ¦ There were 8 on the bus. ¦ The answer is 8 per day ¦ 8 per week ¦ The answer is 8 times. ¦ It is 8 hours
  8 ⇐ There are 8 with hats. ¦ 8 who play ¦ He has 8 friends. ¦ For 2 cakes she used 8. ¦ Each of the 4 kids gets 8. ¦ All of them have 8 ¦ In 2 of the 4 boxes there are 8. ¦ in 5 minutes he runs 8
  8 ⇐ 3 of the 5 boys have 8 ¦ After 3 more there are 8. ¦ 1 in 4 of 32 is 8 ¦ 25% of 32 is 8. ¦ 1/4 of 32 = 8 ¦ Since 3 out of 4 are red, 8 are left. ¦ He sells them for 8 dollars. ¦ He sells each for $8.
  8 ⇐ for $8 each ¦ It grew by 8. ¦ It grew by 8 cm ¦ It is smaller by 8 ¦ The train leaves after 8 minutes. ¦ He waits for 8 minutes ¦ It drops to 8. ¦ It fell to 8 ¦ The answer is, of course, 8 ¦ ans = 8 ¦ Ans. 8
  8 ⇐ (Answer: 8) ¦ The answer is 8 m ¦ It is 8 m high. ¦ It weighs 8 lb ¦ It is 8 ft long. ¦ 8 mm ¦ 8 mg ¦ 8 ml ¦ 8 kWh ¦ 8 rpm ¦ 8 mph ¦ 8 kcal ¦ 8 Hz ¦ 8 psi ¦ 8 atm ¦ 8 bar ¦ 8 mol ¦ 8 eV ¦ 8 W ¦ 8 J ¦ 8 Pa ¦ 8 A
  8 ⇐ 8 hrs ¦ 8 mins ¦ 8 secs ¦ 8 yrs ¦ 8 pts ¦ 8 pcs ¦ 8 EUR ¦ 8 GBP ¦ 8 JPY ¦ 8 INR ¦ Rs. 8 ¦ Rs 8 ¦ ₹8 ¦ ¥8 ¦ 8 yen ¦ 8 bucks ¦ 8 quid ¦ 8 apples each ¦ 8 new friends ¦ 8 big dogs ¦ 8 red balls ¦ 8 more ¦ 8 extra
  8 ⇐ 8 additional cookies ¦ 8 full boxes ¦ 8 remaining cookies ¦ 8 total ¦ 8 combined ¦ 8 overall ¦ 8 altogether ¦ 8 each way ¦ 8 every day ¦ 8 daily ¦ 8 weekly ¦ 8pts ¦ 8pcs ¦ 8mph ¦ 8kph ¦ 8rpm ¦ 8fps ¦ 8GHz
  8 ⇐ 8MHz ¦ 8kWh ¦ 8mAh ¦ 8mL ¦ 8cm2 ¦ 8m2 ¦ 8km² ¦ 8m3 ¦ 8sqm ¦ 8hrs ¦ 8yrs ¦ 8min ¦ 8mins ¦ 8sec ¦ 8secs ¦ 8ft ¦ 8ft. ¦ 8in ¦ 8lb ¦ 8lbs ¦ 8oz ¦ 8gms ¦ 8yd ¦ 8yds ¦ 8° ¦ 8% ¦ 8¢ ¦ 8€ ¦ 8$ ¦ 8USD ¦ 8€ each ¦ 8kg/m³
  8 ⇐ 8m/s ¦ 8cm² ¦ 8apples ¦ 8hours ¦ 8days ¦ 8years ¦ 8miles ¦ 8dollars ¦ 8kmh ¦ 8km/h ¦ 8mm ¦ 8cal ¦ 8kcal ¦ 8deg ¦ 8rad ¦ 8gal ¦ 8tbsp ¦ 8tsp ¦ 8bpm ¦ 8ppm ¦ 8mcg ¦ 8kPa ¦ 8atm ¦ 8bar ¦ 8psi ¦ 8Hz ¦ 8mol
  8 ⇐ She ran 8 km. ¦ He is 8 years old ¦ 8 per cent ¦ The answer is 8, not 9. ¦ The answer is 8 rather than 9. ¦ The answer is 8 instead of 9 ¦ Total cost: $8 ¦ Total cost = $8 ¦ = 8 ¦ =8 ¦ : 8 ¦ The value of x is 8
  8 ⇐ x is 8 ¦ x equals 8 ¦ so there are $8$ of them ¦ the number is $8$ ¦ so the answer is $8$ ¦ it’s 8 ¦ It's 8 ¦ That's 8 in all ¦ so 8 ¦ He is 8 now ¦ 8 now ¦ 8 then ¦ 8 too ¦ 8 only ¦ 8 exactly ¦ 8 approx
  8 ⇐ 8 approx. ¦ 8 (approx.) ¦ 8, exactly ¦ 8; done. ¦ 8 — that is all ¦ 8... ¦ 8… ¦ 8 :) ¦ 8 🎉 ¦ 8 ✔ ¦ 8 ☑️ ¦ 👉 8 ¦ **8** ✅ ¦ 8\! ¦ $8\!$ ¦ $8\,$ ¦ $\mathbf{8}$ ¦ $\bf{8}$ ¦ \textbf{8} ¦ \boxed{\mathbf{8}}
  8 ⇐ \boxed{\textbf{8}} ¦ \boxed{\ 8} ¦ \boxed{\,8\,} ¦ \boxed{8\mathrm{\,cm}} ¦ \boxed{8\mathrm{cm}} ¦ \boxed{8\text{cm}} ¦ \boxed{8~\text{cm}} ¦ \boxed{8\text{ cm}^2} ¦ \boxed{8\;\text{cm}^2} ¦ \boxed{8\%}
  8 ⇐ \boxed{8\text{ percent}} ¦ \boxed{8\text{ ways}} ¦ \boxed{8\text{ square units}} ¦ \boxed{\text{eight}} ¦ \boxed{+8} ¦ \boxed{n=8} ¦ \boxed{S_4 = 8} ¦ \boxed{f(2) = 8} ¦ \boxed{|x| = 8} ¦ \boxed{AB = 8}
  8 ⇐ \boxed{\angle A = 8^\circ} ¦ \boxed{8\degree} ¦ \boxed{\approx 8} ¦ First \boxed{3}. Then, since more is needed in the second step of the plan, \boxed{8}.
  8 ⇐ \boxed{9} is what I had but that was wrong since it forgets the rest. hence \boxed{8}. ¦ The average is 8. ¦ The product of 2 and 4 is 8. ¦ an average of 8 ¦ a product of 8 ¦ a mean of 8 apples
  8 ⇐ with a sum of 8 ¦ The difference of 12 and 4 equals 8
  3000000 ⇐ 3 million ¦ 3 million people ¦ $3 million ¦ \boxed{3\text{ million}} ¦ \boxed{\$3\text{ million}} ¦ 3,000,000 ¦ 3.0 million ¦ \boxed{3 \text{ million dollars}} ¦ 3 mln ¦ 3 mn ¦ €3m ¦ $3M ¦ $3 M ¦ 3M dollars
  3000000 ⇐ $3mm ¦ 3 Mio. ¦ 3 Mio. Euro ¦ 3 millones ¦ 3 millions ¦ 3 млн ¦ 3 миллиона ¦ 3M ¦ 300万 ¦ 300 万人 ¦ It has 3 million inhabitants. ¦ three million ¦ 3 thousand thousand ¦ 30 lakh ¦ 3 milioni ¦ 3 milhões
  3000000 ⇐ 3 Millionen ¦ 3-million ¦ 3~million ¦ 3\ \text{million} ¦ 3 million. ¦ The answer is 3 million. ¦ <answer>3 million</answer> ¦ #### 3 million ¦ 3e6 ¦ 3 \times 10^6 ¦ 3 \cdot 10^{6}
  70000 ⇐ $70K ¦ 70K ¦ 70k ¦ \boxed{70K} ¦ \$70K ¦ \boxed{\$70\text{K}} ¦ 70 thousand ¦ 70 thousand dollars ¦ 70K dollars ¦ The salary is $70K per year. ¦ The salary is 70K. ¦ $70k ¦ £70k ¦ 7万 ¦ 70 тыс. ¦ 70 тысяч
  70000 ⇐ 70 mila ¦ 70 tausend ¦ 70 tys. ¦ $70,000 ¦ 70,000 dollars ¦ €70k a year ¦ Rs. 70k
  1500000 ⇐ 1.5 million ¦ 1,5 Mio. ¦ 1.5M ¦ $1.5M ¦ 1,5 млн ¦ 1.5 million dollars ¦ \boxed{1.5\text{ million}} ¦ one and a half million ¦ 1 1/2 million ¦ a million and a half ¦ 1 and a half million ¦ 15 lakh
  36 ⇐ 3 dozen ¦ \boxed{3\text{ dozen}} ¦ three dozen ¦ 3 dozen eggs
  $2 million ⇐ 2000000 ¦ $2M ¦ 2 million dollars ¦ $2,000,000 ¦ 2 million
  1234 ⇐ 1 thousand and 234 ¦ 1,234
  2000000000 ⇐ 2 billion ¦ 2 bn ¦ $2B ¦ $2bn ¦ 2 Milliarden ¦ 2 Mrd. Euro ¦ 2 milliards ¦ 2 млрд ¦ 20億 ¦ 20亿 ¦ 20억
  500000 ⇐ half a million ¦ 500 thousand ¦ 500K ¦ 50만 ¦ 50만 원
  2.5 ⇐ 2 and a half ¦ 2 and a half hours ¦ 2 1/2 hours ¦ two and a half ¦ 2 hours and a half ¦ 2.5 hours
  1.5 ⇐ an hour and a half ¦ 1 and a half ¦ one and a half hours ¦ a day and a half ¦ 1 hour and a half
  12.5 ⇐ 12 dollars and 50 cents ¦ $12 and 50 cents ¦ 12 dollars 50 cents ¦ $12.50
  $12.50 ⇐ 12 dollars and 50 cents ¦ 1250 cents
  90 minutes ⇐ an hour and 30 minutes ¦ 1 hour 30 minutes ¦ an hour and a half ¦ 1.5 hours
  1/4 ⇐ 1 in 4 ¦ one in four ¦ 1 out of 4 ¦ one out of four ¦ 1 of 4 ¦ 1 out of every 4 ¦ 25% ¦ 0.25 ¦ a quarter ¦ The answer is 1 in 4. ¦ 1/4
  0.008 ⇐ 8‰ ¦ 8 per mille ¦ 0.8%
  300 K ⇐ 300 K ¦ 300K ¦ \boxed{300\ \text{K}} ¦ 300 kelvin ¦ 300
  300 ⇐ 300 K ¦ \boxed{300\,\mathrm{K}} ¦ 300\text{ K}
  5 ⇐ 5 m ¦ 5 GB ¦ 5 MB ¦ 5 kB ¦ 5 K ¦ 答案是5。 ¦ 共有5个苹果。 ¦ 정답: 5 ¦ La respuesta: 5 ¦ Die Antwort ist 5. ¦ La réponse est 5. ¦ Ответ: 5 яблок ¦ Итого 5 рублей ¦ Es sind 5 Äpfel. ¦ Il y a 5 pommes. ¦ Hay 5 manzanas.
  5 ⇐ 5 μήλα ¦ 共5元 ¦ 5 km ¦ 5 ¦ 5 명
  2k ⇐ 2k
  5M ⇐ 5M
  3m ⇐ 3m
  2K ⇐ 2K
  1.5 million ⇐ 1.5 million
  \frac{1}{2} ⇐ 1/2 ¦ 0.5 ¦ \dfrac12 ¦ one half ¦ ½ ¦ a half ¦ 50%
  17 ⇐ seventeen ¦ \boxed{17}
  -8 ⇐ -8 ¦ −8 ¦ \boxed{-8} ¦ negative 8 ¦ minus 8 ¦ x = -8 ¦ The answer is -8. ¦ -$8 ¦ \boxed{-8}.
  0.05 ⇐ 5% ¦ 5\% ¦ \boxed{0.05} ¦ $0.05 ¦ 0.05
  1,234 ⇐ 1234 ¦ 1{,}234 ¦ 1\,234 ¦ $1,234.00 ¦ 1 234
  12:30 PM ⇐ 12:30 pm ¦ 12:30
  8000 ⇐ 8,000 ¦ 8 thousand ¦ 8k ¦ 8K ¦ $8K ¦ 8000 ¦ 8 Tsd. Euro ¦ 8 тыс. руб. ¦ 8 grand ¦ 8e3 ¦ 8 \times 10^3 ¦ 8천 ¦ 8千 ¦ 8 mila euro ¦ 8 duizend ¦ 0.008 million ¦ 0.8万 ¦ 80 hundred ¦ 8 thousand and 0
  8050 ⇐ 8 thousand and 50 ¦ 8,050 ¦ 8.05 thousand
  -1 ⇐ -1 ¦ $-1$ ¦ \boxed{-1} ¦ x = −1 ¦ negative one
  100 ⇐ 100% ¦ one hundred ¦ 100 percent ¦ a hundred ¦ 1 hundred ¦ \boxed{100}
  1000 ⇐ 1 thousand ¦ one thousand ¦ a thousand ¦ 1k ¦ 1K ¦ 1,000
  12 ⇐ a dozen ¦ one dozen ¦ 1 dozen ¦ 12 eggs ¦ \boxed{12}
  144 ⇐ 12 dozen ¦ 144
  6 ⇐ half a dozen ¦ 6
  18 ⇐ a dozen and a half ¦ 1.5 dozen ¦ 18
  150 ⇐ a hundred and fifty ¦ 150 ¦ one hundred and fifty ¦ 1.5 hundred
  250000 ⇐ a quarter of a million ¦ 250K ¦ 250 thousand ¦ 0.25 million
  7.5 ⇐ 7 and a half ¦ seven and a half ¦ 7 1/2 ¦ 7½ ¦ 7.50
  3.25 ⇐ 3 and a quarter ¦ 3 1/4 ¦ three and a quarter
  2/3 ⇐ 2 out of 3 ¦ two out of three ¦ two thirds ¦ 2 in 3 ¦ 2/3
  3/5 ⇐ 3 out of every 5 ¦ 3 of 5 ¦ 3/5 ¦ 60%
  5.25 ⇐ 5 dollars and 25 cents ¦ $5.25 ¦ 5 dollars 25 cents
  105 ⇐ 1 hour and 45 minutes ¦ 105 minutes ¦ 105
  67 ⇐ 5 feet 7 inches ¦ 67 inches
  1.2 billion ⇐ 1.2B ¦ 1,200,000,000 ¦ 1.2 bn ¦ 1200 million ¦ 1.2 billion
  $1.2 billion ⇐ $1.2B ¦ 1200000000 ¦ $1,200,000,000 ¦ 1.2 billion dollars
  70k ⇐ 70k
  8k ⇐ 8k
  3M ⇐ 3M
  10^6 ⇐ 1 million ¦ 1000000
  1000000 ⇐ 10^6 ¦ one million
  5 \mu m ⇐ 5 μm ¦ 5 µm
  3\Omega ⇐ 3Ω ¦ 3 Ω ¦ 3
  2 ⇐ She bought 2 grand pianos. ¦ 2 Bio-Eier ¦ There are 2 fans.
  2000 ⇐ 2 grand ¦ $2 grand ¦ It cost 2 grand. ¦ 2k ¦ 2K
  2000000000000 ⇐ 2 Bio. Euro ¦ 2 trillion
  3\text{ million} ⇐ 3000000 ¦ 3,000,000 ¦ 3 million ¦ \boxed{3\text{ million}} ¦ 3M ¦ $3M
  \$3 \text{ million} ⇐ 3000000 ¦ $3M ¦ $3 million
  $70K ⇐ 70000 ¦ $70,000 ¦ $70K ¦ 70 thousand ¦ 70K dollars
  1 in 4 ⇐ 1/4 ¦ 0.25 ¦ 25% ¦ one in four
  3 and a half ⇐ 3.5 ¦ 7/2 ¦ three and a half
  12 dollars and 50 cents ⇐ 12.5 ¦ $12.50 ¦ 1250 cents
  an hour and 30 minutes ⇐ 90 minutes ¦ 1.5 hours ¦ 1 h 30 min
  3rd ⇐ 3rd ¦ The answer is 3rd. ¦ \boxed{3\text{rd}} ¦ 3^{\text{rd}}
  8‰ ⇐ 8‰ ¦ 0.008 ¦ 8 per mille
  50 bps ⇐ 50 basis points ¦ 0.005 ¦ 50 bps
  273 K ⇐ 273K ¦ 273 K ¦ 273 ¦ 273 kelvin
  273K ⇐ 273 K ¦ 273K
  2.5M ⇐ 2.5M
  α = 2 ⇐ α = 2 ¦ 2 ¦ \alpha=2
  5μm ⇐ 5 μm ¦ 5\mu m
  5 μm ⇐ 5 μm ¦ 5 µm ¦ 5 micrometers ¦ 0.005 mm ¦ 5
  10 Ω ⇐ 10 Ω ¦ 10 ohms ¦ 10 ¦ 0.01 kΩ
  5万 ⇐ 50000 ¦ 5万 ¦ 5 万
  3 dozen ⇐ 36 ¦ 3 dozen ¦ three dozen
  5 million dollars ⇐ 5000000 ¦ $5 million ¦ $5,000,000 ¦ 5 million
  2 million people ⇐ 2000000 ¦ 2 million ¦ 2,000,000 people
  1/2 million ⇐ 500000 ¦ half a million ¦ 0.5 million
  2 thousandths ⇐ 0.002 ¦ 2/1000
`

const byMath = String.raw`
  2\pi ⇐ 2π ¦ \boxed{2π} ¦ The answer is 2π. ¦ $2π$ ¦ 2 π ¦ 2*π ¦ 2pi ¦ 2 pi ¦ 2\pi ¦ 2·π ¦ x = 2π ¦ π·2 ¦ 2\cdot\pi ¦ 2π units ¦ 2π rad
  \frac{3\pi}{4} ⇐ 3π/4 ¦ \frac{3π}{4} ¦ (3/4)π ¦ 0.75π ¦ 3/4 π
  36\pi ⇐ 36π ¦ 36π cm³ ¦ 36π cubic units ¦ \boxed{36π} ¦ 36 π cm^3
  \pi ⇐ π ¦ \boxed{π} ¦ pi ¦ $π$
  π/2 ⇐ \frac{\pi}{2} ¦ \pi/2
  \pi r^2 ⇐ πr² ¦ πr^2 ¦ π r^2 ¦ r²π
  \theta ⇐ θ ¦ $θ$
  2\theta ⇐ 2θ ¦ θ+θ
  \alpha+\beta ⇐ α+β ¦ β + α
  \sin\theta ⇐ sin θ ¦ \sin θ
  \lambda ⇐ λ
  \Delta ⇐ Δ
  \phi ⇐ φ
  \mu ⇐ μ
  \omega t ⇐ ωt
  \frac{\alpha}{2} ⇐ α/2
  x \in \mathbb{R} ⇐ x ∈ ℝ
  \mathbb{R} ⇐ ℝ
  [8,\infty) ⇐ [8,∞) ¦ [8, \infty) ¦ x \ge 8 ¦ x ≥ 8 ¦ \left[8,\infty\right) ¦ \boxed{[8,\infty)} ¦ x≥8
  (-\infty,8] ⇐ x\le 8 ¦ (-∞, 8]
  A \cap B ⇐ A ∩ B
  \emptyset ⇐ ∅
  2k+1 ⇐ 2k + 1 ¦ 1+2k ¦ \boxed{2k+1}
  2k ⇐ k+k ¦ 2 k ¦ k \cdot 2 ¦ \boxed{k+k}
  3m ⇐ m+2m
  k\pi ⇐ kπ ¦ k \pi
  n\pi ⇐ πn
  4t ⇐ 4t ¦ 2t+2t
  8b ⇐ 8b ¦ b \cdot 8
  \sqrt{8} ⇐ 2\sqrt2 ¦ √8 ¦ sqrt(8) ¦ 2√2
  8\sqrt{3} ⇐ 8√3 ¦ 8\sqrt3 cm
  \log 8 ⇐ log(8) ¦ log 8 ¦ \log(8)
  \ln 8 ⇐ ln 8 ¦ 3 ln 2
  \sin 8 ⇐ sin 8 ¦ sin(8)
  f(8) ⇐ f(8)
  8x ⇐ 8x
  x=8 or x=9 ⇐ \boxed{8} or \boxed{9} ¦ Case 1: \boxed{9}. Case 2: \boxed{8}. ¦ 8, 9 ¦ \boxed{8, 9} ¦ x=9 \text{ or } x=8
  \text{(A)} ⇐ A ¦ (A)
  B ⇐ \boxed{B}
  even ⇐ even
  k ⇐ k
  8k ⇐ k\cdot 8
  2k\pi ⇐ 2kπ ¦ 2πk ¦ 2 \pi k
  x=k ⇐ k
  3M ⇐ M+2M
  \frac{1}{2}\pi ⇐ π/2 ¦ 0.5π
  4\pi+2 ⇐ 4π + 2 ¦ 2 + 4π ¦ 2(2π+1)
  \sqrt{\pi} ⇐ √π ¦ sqrt(π) ¦ \sqrt π
  e^{i\pi} ⇐ e^{iπ} ¦ -1
  2\pi r h ⇐ 2πrh ¦ 2πr h
  \cos\theta ⇐ cos θ ¦ cosθ ¦ \cos(θ)
  a+b\theta ⇐ a+bθ
  \mu\sigma ⇐ μσ ¦ σμ
  \rho g h ⇐ ρgh
  \lambda_1 ⇐ λ_1
  8π ⇐ 8\pi ¦ 25.132741228718345
  \frac{\pi}{4} ⇐ π/4 ¦ \boxed{π/4} ¦ π/4 rad ¦ 0.25π ¦ ¼π
  θ = \frac{π}{6} ⇐ π/6 ¦ \theta = \pi/6 ¦ θ=π/6
  2α+β ⇐ β+2α ¦ 2\alpha+\beta
  ω ⇐ \omega ¦ ω
  Ω ⇐ \Omega
  ΔABC ⇐ ΔABC
  Σάββατο ⇐ Σάββατο
  2πr ⇐ 2\pi r ¦ 2πr ¦ 2rπ
  k+k ⇐ 2k ¦ \boxed{2k}
  K+K ⇐ 2K
  \frac{4k}{2} ⇐ 2k
`

const byNumber = String.raw`
  8 ⇐ Total: 8 eggs ¦ 8 dB ¦ 8 sq units ¦ 8 is the answer ¦ 8 is correct. ¦ remainder: 8 ¦ gcd(16, 24) = 8 ¦ The answer is 8 of them. ¦ Therefore: 8! ¦ Solution: 8 ¦ Ans: 8 ¦ The answer is 8 cm long ¦ 8 m tall
  8 ⇐ 8 m wide ¦ 8 pc ¦ 8 Rs ¦ 8 a week ¦ 8 a day ¦ 8 an hour ¦ 8px ¦ 8dB ¦ 8MW ¦ 8kJ ¦ 8m² ¦ 8hr ¦ 8yr ¦ 8gm ¦ 8cc ¦ 8L ¦ 8l ¦ 8mi ¦ 8V ¦ 8W ¦ 8J ¦ 8N ¦ 8A ¦ 8s ¦ 8h ¦ 8m ¦ 8g ¦ 8qt ¦ 8pt ¦ 8mg ¦ 8μg ¦ 8Nm ¦ 8Pa
  8 ⇐ 8eV ¦ (total: 8) ¦ Value: 8 ¦ 8 - done ¦ 8 – that is all ¦ \boxed{\text{8 apples}}
  70k ⇐ 70000 ¦ 70K ¦ 70,000
  2.5M ⇐ 2500000 ¦ 2.5 million
`

const byNone = String.raw`
  8 ⇐ 8π ¦ 8 π ¦ 8pi ¦ 8 pi ¦ 8*pi ¦ 8θ ¦ 8 θ ¦ 8λ ¦ 8μ ¦ 8φ ¦ 8σ ¦ 8τ ¦ 8α ¦ 8β ¦ 8Δ ¦ 8π/3 ¦ 8πr ¦ 8πr² ¦ 8π cm² ¦ 8 pi cm ¦ π·8 ¦ π*8 ¦ π8 ¦ 8·π ¦ 8×π ¦ 8/π ¦ π/8 ¦ -8π ¦ 8π+1 ¦ 8√2 ¦ 8√π ¦ √8 ¦ ∛8 ¦ ∜8 ¦ 8! ¦ 8‰
  8 ⇐ 8‱ ¦ 8 bps ¦ 8 basis points ¦ 8 per mille ¦ 8 permille ¦ 8∞ ¦ 8i ¦ 8e ¦ 8x ¦ 8y² ¦ 8a ¦ 8ab ¦ 8xy ¦ 8ish ¦ 8-ish ¦ 8 ish ¦ log(8) ¦ log 8 ¦ ln(8) ¦ ln 8 ¦ lg 8 ¦ sqrt 8 ¦ sqrt(8) ¦ cbrt(8) ¦ sin 8 ¦ sin(8)
  8 ⇐ cos(8) ¦ tan 8 ¦ arcsin 8 ¦ exp(8) ¦ f(8) ¦ g(8) ¦ P(8) ¦ log_2(8) ¦ log_2 8 ¦ log2(8) ¦ det(8) ¦ phi(8) ¦ φ(8) ¦ σ(8) ¦ Γ(8) ¦ d(8) ¦ \log 8 ¦ \ln 8 ¦ \sin 8 ¦ \sqrt{8} ¦ \sqrt 8 ¦ \phi(8) ¦ \Gamma(8)
  8 ⇐ f^{-1}(8) ¦ f'(8) ¦ f_2(8) ¦ F(8) ¦ sum(8) ¦ max(7, 8) ¦ min(8, 9) ¦ gcd(8, 12) ¦ lcm(4, 8) ¦ range(8) ¦ mod 8 ¦ 5 mod 8 ¦ 8 mod 5 ¦ 8 modulo 5 ¦ 8 choose 2 ¦ 10 choose 8 ¦ C(10, 8) ¦ \binom{10}{8} ¦ 3\pmod 8
  8 ⇐ 8 squared ¦ 8 cubed ¦ 8 doubled ¦ 8 tripled ¦ 8 halved ¦ 8 quadrupled ¦ 8 inverted ¦ 8 factorial ¦ 8 to the 2nd ¦ 8 to the power of 2 ¦ 8 to the 3 ¦ 8 in binary ¦ 8 in hex ¦ 8 in base 9 ¦ 8 base 9 ¦ 8 (base 9)
  8 ⇐ 8 (in binary) ¦ 8 & above ¦ 8 & up ¦ 8 and above ¦ 8 and up ¦ 8 or above ¦ 8 or fewer ¦ 8 and beyond ¦ 8 onwards ¦ 8 onward ¦ 8 to infinity ¦ 8 and a half ¦ 8 and a quarter ¦ 8 and three quarters
  8 ⇐ 8 and one third ¦ 8 times 3 ¦ 8 plus 3 ¦ 8 minus 3 ¦ 8 over 3 ¦ 8 divided by 3 ¦ 8 x 3 ¦ 8 X 3 ¦ 9 x 8 ¦ 9x8 ¦ 3 by 8 ¦ 3 per 8 ¦ 3 for 8 ¦ 3 for every 8 ¦ 3 in 8 ¦ 3 of 8 ¦ 3 out of 8 ¦ 3 out of every 8
  8 ⇐ one in 8 ¦ two out of 8 ¦ three of the 8 ¦ 3 to 8 ¦ 3:8 ¦ 3-8 ¦ 3–8 ¦ 3..8 ¦ 3 through 8 ¦ 3 thru 8 ¦ 8 per 10 ¦ 8 out of 10 ¦ 8 of 10 ¦ 8 in 10 ¦ 8 for 10 ¦ 8 for every 10 ¦ 8 of the 10 ¦ 8 to 10
  8 ⇐ the sum of 3 and 8 ¦ sum of 8 and 3 ¦ the product of 2 and 8 ¦ product of 8 and 2 ¦ the difference of 9 and 8 ¦ the difference between 9 and 8 ¦ the quotient of 16 and 8 ¦ the ratio of 3 to 8
  8 ⇐ the average of 6 and 8 ¦ the mean of 6, 7 and 8 ¦ the larger of 7 and 8 ¦ the smaller of 8 and 9 ¦ the gcd of 8 and 12 ¦ the lcm of 4 and 8 ¦ the number after 8 ¦ the number before 8 ¦ the integer following 8
  8 ⇐ one after 8 ¦ one more than 8 ¦ 2 more than 8 ¦ two less than 8 ¦ the next number after 8 ¦ right after 8 ¦ just before 8 ¦ up from 8 ¦ down from 8 ¦ divisible by 8 ¦ divided by 8 ¦ multiplied by 8
  8 ⇐ 10 divided by 8 ¦ half of 8 ¦ half an 8 ¦ twice 8 ¦ double 8 ¦ thrice 8 ¦ a third of 8 ¦ a quarter of 8 ¦ 80% of 8 ¦ 80 percent of 8 ¦ the square of 8 ¦ the square root of 8 ¦ the cube of 8 ¦ the cube root of 8
  8 ⇐ the log of 8 ¦ the reciprocal of 8 ¦ the inverse of 8 ¦ the negative of 8 ¦ the opposite of 8 ¦ the factorial of 8 ¦ a factor of 8 ¦ a multiple of 8 ¦ a power of 8 ¦ 8 less than 10 ¦ 8 fewer than 10 ¦ not 8
  8 ⇐ almost 8 ¦ nearly 8 ¦ less than 8 ¦ at least 8 ¦ at most 8 ¦ between 7 and 8 ¦ 7 or 8 ¦ 8 or 9 ¦ either 7 or 8 ¦ 8 ± 1 ¦ ±8 ¦ 8? No ¦ 8 is wrong ¦ 8? No. ¦ [8,\infty) ¦ (8,\infty) ¦ [8, \infty) ¦ [8, ∞)
  8 ⇐ (8, ∞) ¦ [8, +\infty) ¦ (8, +∞) ¦ [8,infinity) ¦ (8, inf) ¦ (-\infty,8] ¦ (-∞, 8] ¦ (-\infty, 8) ¦ [8,9) ¦ (8,9] ¦ [7,8) ¦ (7, 8] ¦ [8, 9] ¦ (8, 9) ¦ (7,8) ¦ \left[8,\infty\right) ¦ \left(8, \infty\right)
  8 ⇐ x \in [8, \infty) ¦ x ∈ [8,∞) ¦ x \ge 8 ¦ x \geq 8 ¦ x > 8 ¦ x < 8 ¦ x ≥ 8 ¦ x ≤ 8 ¦ 8 < x ¦ 8 \le x ¦ 8 < x < 9 ¦ 8 < x < \infty ¦ [8, \infty[ ¦ ]8, \infty[ ¦ [8;\infty) ¦ 8 to \infty
  8 ⇐ (-\infty, 8) \cup (8, \infty) ¦ \mathbb{R} \setminus \{8\} ¦ x \neq 8 ¦ x ≠ 8 ¦ {8, 9} ¦ \{8, 9\} ¦ \{7, 8\} ¦ (7, 8) ¦ 8, 9 ¦ 7, 8 ¦ 7 and 8 ¦ 8 and 9 ¦ 8; 9 ¦ \boxed{9} \boxed{8} ¦ \boxed{9}, \boxed{8}
  8 ⇐ Case 1: \boxed{9}. Case 2: \boxed{8}. ¦ Case 1: \boxed{8}. Case 2: \boxed{9}. ¦ $\boxed{9}$ $\boxed{8}$ ¦ \boxed{9} or \boxed{8} ¦ \boxed{9} and \boxed{8} ¦ (a) \boxed{9} (b) \boxed{8}
  8 ⇐ Option 1: \boxed{9}; option 2: \boxed{8} ¦ 8? Not sure. ¦ Is it 8? ¦ Maybe 8? No! ¦ Could it be 8? ¦ 8 (wrong) ¦ 8? Wrong. ¦ The area is 8π. ¦ The area is 8π cm². ¦ The area is $8π$. ¦ so it equals log(8).
  8 ⇐ It equals sqrt(8). ¦ We need f(8). ¦ The value is ln 8 ¦ It costs $8K. ¦ It costs $8K per year ¦ It costs $8 million. ¦ The city has 8 million people. ¦ About 8 thousand people came.
  8 ⇐ Es waren 8 Millionen Menschen. ¦ Es kostet 8 Mio. Euro. ¦ Il y a 8 milliards de personnes. ¦ Hay 8 millones de personas. ¦ Это стоит 8 тысяч рублей. ¦ 8 млн рублей ¦ 인구는 8만 명이다. ¦ 人口有8万。 ¦ 人口は8億人です。
  8 ⇐ She has 8 dozen eggs. ¦ He came 8th. ¦ He was 8th in the race. ¦ the 8th of May ¦ the 8th ¦ It is 8 squared. ¦ The result is 8 doubled ¦ So x ∈ [8, ∞). ¦ So $x \in [8, \infty)$. ¦ The domain is [8, ∞)
  8 ⇐ The domain is $[8,\infty)$ ¦ It needs the product of 2 and 8 ¦ You get the sum of 3 and 8 ¦ It takes a week and 8 days. ¦ There are one hundred and 8 ¦ One out of 8 ¦ The chance is one in 8.
  8 ⇐ 8 in binary is 1000. ¦ The rate is 8‰ ¦ The rate is 8 bps. ¦ The rate is 8 basis points ¦ The salary rose to $8k ¦ Revenue: $8M ¦ Revenue: 8M USD ¦ Valuation of $8B ¦ Valuation: 8bn ¦ It has 8k followers
  8 ⇐ 8B parameters ¦ about 8K users ¦ 8 grand ¦ 8 thousand and 5 ¦ 8,000 ¦ 8000 ¦ 8 000 ¦ 8.000,00 ¦ 8\,000 ¦ 8\ 000 ¦ 8'000 ¦ 8_000 ¦ 8e3 ¦ 8E3 ¦ 8 \times 10^3 ¦ 8 × 10³ ¦ 8 x 10^3 ¦ 8*10^3 ¦ 8\cdot10^{3} ¦ 8·10³
  8 ⇐ 8^2 ¦ 8**2 ¦ 8² ¦ 8³ ¦ 8^{-1} ¦ 8⁻¹ ¦ 8^x ¦ 8_9 ¦ 8_{16} ¦ 0x8 ¦ 8h30 ¦ 8:30 ¦ 8/9 ¦ 8÷2 ¦ 8 \div 2 ¦ 8 / x ¦ 1/8 ¦ ⅛ ¦ 8½ ¦ 8 1/2 ¦ 8 3/4 ¦ 8\frac12 ¦ 8\frac{1}{2} ¦ 8.5 ¦ 8,5 ¦ .8 ¦ 0.8 ¦ 18 ¦ 80 ¦ -8 ¦ −8
  8 ⇐ minus 8 ¦ negative 8 ¦ 8% of 50 ¦ 8 percent of 50 ¦ 8\% of 50 ¦ 8 more than 3 ¦ 8 less than 30 ¦ 8 times x ¦ 8 times as many as 3 ¦ 8 + x ¦ 8 - x ¦ 8 - 3 ¦ 8+3 ¦ 8*3 ¦ 8·3 ¦ 8\cdot 3 ¦ 8\times 3 ¦ 3+8 ¦ 3*8
  8 ⇐ 3·8 ¦ 3\cdot 8 ¦ 3\times 8 ¦ x+8 ¦ x-8 ¦ x·8 ¦ 8 ≠ 9 ¦ 8 < 9 ¦ 7 < 8 ¦ 8 > 7 ¦ > 8 ¦ ≥ 8 ¦ \ge 8 ¦ \geq 8 ¦ <8 ¦ 8+ ¦ 8 or more ¦ 8 and more ¦ 8 or over ¦ 8 and over ¦ 8 or greater ¦ 8 or under ¦ 8 – 10 ¦ 8-10
  8 ⇐ from 8 to 10 ¦ from 7 to 8 ¦ 8..10 ¦ 8 through 10 ¦ 8 thru 10 ¦ 8 million+ ¦ 8 million or more ¦ 8k+ ¦ 8K+ ¦ $8K+ ¦ $8k-$9k ¦ $7K-$8K ¦ $7k to $8k ¦ 8.0K ¦ 8.0 million ¦ 08 million ¦ 8 hundredths
  8 ⇐ 8 thousandths ¦ 8 millionths ¦ 8 tenths ¦ 8 halves ¦ 8 thirds ¦ 8 quarters ¦ 8 fifths ¦ 8 tens ¦ 8 score ¦ 8 scores ¦ 8 dozens ¦ 8 hundreds ¦ 8 thousands ¦ 8 millions ¦ 8 hundred million ¦ 8 bil ¦ 8 tril
  8 ⇐ 8 mill ¦ 8 Mill. ¦ 8 Mill. Euro ¦ 8 Bio. ¦ 8 Tsd. ¦ 8 Tsd ¦ 8kk ¦ 8 mia ¦ 8 mia. ¦ 8 Mia. ¦ 8 mdr ¦ 8 mld ¦ 8 mld. ¦ 8 mlrd ¦ 8 млрд. ¦ 8 тыс ¦ 8 тыс. руб. ¦ 8 сотен ¦ 8 сотни ¦ 8 десятков ¦ 8 десятка ¦ 8十 ¦ 8百
  8 ⇐ 8千 ¦ 8千万 ¦ 8百亿 ¦ 8兆 ¦ 8조 ¦ 8백 ¦ 8천만 ¦ 8십 ¦ 8 triệu ¦ 8 nghìn ¦ 8 tỷ ¦ 8 हज़ार ¦ 8 लाख ¦ 8 करोड़ ¦ 8 ألف ¦ 8 مليون ¦ 8 milyon ¦ 8 milyar ¦ 8 yüz ¦ 8 cientos ¦ 8 centaines ¦ 8 mille euros ¦ 8 decenas ¦ 8 dizaines
  8 ⇐ 8 tuhat ¦ 8 miljoner ¦ 8 miljarder ¦ 8 millioner ¦ 8 milliarder ¦ 8 milliarden ¦ 8 tisíc ¦ 8 milionů ¦ 8 ezer ¦ 8 millió ¦ 8 χιλιάδες ¦ 8 εκατομμύρια ¦ 8π² ¦ 8πi ¦ 8 π r ¦ 8π + 3 ¦ 8π-3 ¦ 8 pi r^2 ¦ 8pi cm^2
  8 ⇐ 8 pi units ¦ 8 times pi ¦ 8\pi ¦ 8 \pi ¦ 8\,\pi ¦ 8\text{π} ¦ 8\text{ pi} ¦ 8\mathrm{\pi} ¦ 8{\pi} ¦ \pi \cdot 8 ¦ π times 8 ¦ 8ξ ¦ 8η ¦ 8 ω ¦ 8Γ ¦ 8Σ ¦ 8Δx ¦ 8δ ¦ 8 δx ¦ 8dx ¦ 8 dx ¦ 8du ¦ 8dt ¦ 8∂ ¦ 8∇ ¦ 8ℓ
  8 ⇐ 8ħ ¦ 8∫x ¦ ∫8 ¦ ∑8 ¦ Σ8 ¦ ∏8 ¦ 8∑ ¦ 8√x ¦ 8|x| ¦ 8(x) ¦ 8(3) ¦ 8(x+1) ¦ 8[x] ¦ 8{x} ¦ !8 ¦ 8\!\cdot 3 ¦ 8' 3" ¦ 8⁄9 ¦ 8 permil ¦ 8 ppm of 3 ¦ 8 per thousand ¦ 8 per 1000 ¦ 8 per 1,000 ¦ 8 per hundred
  8 ⇐ 8 in a million ¦ 8 in a hundred ¦ 8 out of ten ¦ 8 of ten ¦ 8 in ten ¦ eight out of 10 ¦ ten of 8 ¦ 8 of every 10 ¦ log₂ 8 ¦ log₂(8) ¦ log_{2} 8 ¦ \log_2 8 ¦ \log_{2}(8) ¦ \ln(8) ¦ \exp(8) ¦ e^8 ¦ e^{8} ¦ 2^8
  8 ⇐ 2^{8} ¦ x^8 ¦ x_8 ¦ a_8 ¦ a_{8} ¦ T_8 ¦ 8th root ¦ 8th place ¦ \#8th ¦ \sqrt[8]{2} ¦ \sqrt[3]{8} ¦ 8\sqrt{2} ¦ 8 sqrt(2) ¦ 8sqrt(2) ¦ 8 root 2 ¦ 8 log 2 ¦ 8 sin x ¦ 8 \sin x ¦ 8cos x ¦ \frac{8}{x} ¦ \frac{x}{8}
  8 ⇐ \frac{8}{\pi} ¦ \frac{\pi}{8} ¦ \frac{8\pi}{3} ¦ \binom{8}{2} ¦ C(8,2) ¦ P(8,2) ¦ 8C2 ¦ 8P2 ¦ nCr(8,2) ¦ 8 nCr 2 ¦ 8 permute 2 ¦ \lfloor 8.5 \rfloor + 1 ¦ f(x) = 8x ¦ y = 8x + 1 ¦ y = x + 8 ¦ x = 8y ¦ 8x = 1
  8 ⇐ 8 = 2x ¦ x \equiv 8 \pmod{9} ¦ 8 \pmod{9} ¦ 8 \bmod 3 ¦ x ≡ 8 (mod 9) ¦ 8 (mod 9) ¦ Is it 8? I am not sure. ¦ I would guess 8? Nope. ¦ 8 is not right. ¦ 8 is not the answer ¦ It is definitely not 8
  8 ⇐ anything but 8 ¦ The answer cannot be 8 ¦ 8 or maybe 9 ¦ 8 or perhaps 9 ¦ 7 or maybe 8 ¦ Either 8 or 10 ¦ 7 vs. 8 ¦ The answer is option 8th ¦ He is 8th ¦ The 8th one ¦ It costs $8 and 50 cents.
  8 ⇐ It costs 8 dollars and 50 cents. ¦ It took an hour and 8 minutes. ¦ He is 5 feet and 8 inches tall. ¦ The baby weighs 7 pounds 8 ounces. ¦ 7 pounds and 8 ounces ¦ The total is one hundred and 8.
  8 ⇐ 2 million and 8 ¦ It comes to 3 thousand and 8 ¦ He scored 8 out of 10. ¦ He scored 8 of 10. ¦ 8 in 10 people agree ¦ 8 out of every 10 ¦ One of 8 ¦ One in every 8 people ¦ sum of 8 and 2 ¦ sum of 8, 2 and 1
  8 ⇐ The ratio is 8 to 3. ¦ The ratio is 3 to 8 ¦ The grid is 3 by 8. ¦ The grid is 8 by 3 ¦ a grid of 8 by 8 ¦ \boxed{8} \text{ and } \boxed{9} ¦ The answers are \boxed{8} and \boxed{9}.
  8 ⇐ Either \boxed{8} or \boxed{9} ¦ (i) \boxed{8} (ii) \boxed{9} ¦ x_1 = \boxed{9}, x_2 = \boxed{8} ¦ The answer is 8? ¦ Answer: 8? I doubt it. ¦ 8? ¦ Perhaps 8? ¦ The sum of 3, 4 and 8 ¦ product of 4 and 8
  8 ⇐ sum of 8 and 4. ¦ The average of 8 and 10 ¦ the ratio of 8 to 3
  3 ⇐ 3 million ¦ 3 thousand ¦ 3 hundred ¦ 3 billion ¦ 3 trillion ¦ 3 dozen ¦ 3K dollars ¦ $3K ¦ $3k ¦ $3M ¦ $3m ¦ €3m ¦ $3B ¦ $3bn ¦ £3bn ¦ $3T ¦ $3mm ¦ $3MM ¦ 3 mln ¦ 3 mn ¦ 3 Mio. ¦ 3 Mio. Euro ¦ 3 Mrd. ¦ 3 Mrd
  3 ⇐ 3 Milliarden ¦ 3 Millionen ¦ 3 millones ¦ 3 mil ¦ 3 mila ¦ 3 milioni ¦ 3 miliardi ¦ 3 milliards ¦ 3 mille ¦ 3 млн ¦ 3 млрд ¦ 3 тыс. ¦ 3 тысячи ¦ 3 тысяч ¦ 3 миллиона ¦ 3 миллиарда ¦ 3 трлн ¦ 3万 ¦ 3 万 ¦ 3億 ¦ 3亿
  3 ⇐ 3천 ¦ 3만 ¦ 3억 ¦ 3千 ¦ 3百 ¦ 3百万 ¦ 3百萬 ¦ 3만 원 ¦ 3 tys. ¦ 3 duizend ¦ 3 miljoen ¦ 3 tausend ¦ 3 lakh ¦ 3 crore ¦ 3M ¦ 3k ¦ 3K ¦ 3B ¦ 3T ¦ 3M dollars ¦ 3 M dollars ¦ 3k USD ¦ 3-million ¦ 3-dozen ¦ 3 hundred thousand
  3 ⇐ 3 thousand million ¦ 3 mil people ¦ 3~million ¦ 3 milhões ¦ 3 bilhões ¦ 3 dutzend ¦ 3 docenas ¦ US$3M ¦ Rs 3 lakh ¦ ₹3 crore ¦ $ 3 million ¦ -3 million ¦ 3\text{ million} ¦ 3 \text{ million} ¦ 3\,\text{million}
  3 ⇐ 3~\text{million} ¦ \$3\text{ million} ¦ \$3 \text{ million} ¦ \$3\text{M} ¦ \$3\text{K} ¦ \$3\,\text{k} ¦ \$3\mathrm{M} ¦ 3\mathrm{\ million} ¦ 3\mathrm{~million} ¦ 3\textrm{ million} ¦ 3\textbf{ million}
  3 ⇐ 3\mbox{ million} ¦ 3\text{ hundred} ¦ 3\text{ thousand} ¦ 3\text{ thousand dollars} ¦ 3\text{ billion} ¦ 3\text{ dozen} ¦ 3\text{ dozen eggs} ¦ 3\text{ squared} ¦ 3\text{ cubed} ¦ 3\text{rd} ¦ 3\text{ rd}
  3 ⇐ 3^{\text{rd}} ¦ 3^\text{rd} ¦ 3\text{K} ¦ 3\text{M} ¦ 3\text{B} ¦ 3\text{k} ¦ 3\,\mathrm{k} ¦ 3\mathrm{M} ¦ 3{,}000 ¦ 3\text{ tenths} ¦ 3\text{ halves} ¦ 3\text{ percent of }4 ¦ 3\text{ mil} ¦ 3\text{ Mio.}
  3 ⇐ 3\text{ млн} ¦ 3\text{万} ¦ 3\text{ doubled} ¦ 3\text{ or more} ¦ 3\text{ mod }5 ¦ 3\text{ in base }4 ¦ 3\text{ per mille} ¦ 3\text{ out of }4 ¦ 3\text{ of }4 ¦ 3\text{ in }4 ¦ one hundred and 3 ¦ two million 3
  3 ⇐ 2 million 3 ¦ a dozen and 3 ¦ one thousand and 3 ¦ 1 hundred and 3 ¦ 2 hundred 3 ¦ five hundred 3 ¦ 3 and a half ¦ 3 and a quarter ¦ a hundred and 3 ¦ 20 million and 3 ¦ 3 hundred and 5 ¦ 5 hundred and 3
  3 ⇐ 3 thousand 5 hundred ¦ 5 thousand 3 hundred ¦ a week and 3 days ¦ 3 weeks and 4 days ¦ 4 weeks and 3 days ¦ an hour and 3 minutes ¦ 1 hour and 3 minutes ¦ one hour and 3 minutes ¦ an hour, 3 minutes
  3 ⇐ a year and 3 months ¦ a foot and 3 inches ¦ a dollar and 3 cents ¦ 3 dollars and 5 cents ¦ 5 dollars and 3 cents ¦ $5 and 3 cents ¦ 3 pounds and 4 ounces ¦ 3 feet 4 inches ¦ 4 feet 3 inches ¦ 4'3" ¦ 3'4"
  3 ⇐ 3 hours 20 minutes ¦ 2h 3m ¦ 3h20 ¦ 3 and 1/2 ¦ 3 1/2 ¦ 3½ ¦ 3 + 1/2 ¦ 3.5 ¦ 3 point 5 ¦ two point 3 ¦ 3 scores
  -1 ⇐ [-1,\infty) ¦ (-1, \infty) ¦ [-1, ∞) ¦ (-\infty,-1] ¦ -1\text{ million} ¦ -$1K ¦ -1K ¦ -1 dozen ¦ -1π
  30 ⇐ an hour and 30 minutes ¦ 1 hour and 30 minutes ¦ an hour, 30 minutes ¦ It took an hour and 30 minutes. ¦ The trip took 1 hour and 30 minutes in total.
  2 ⇐ an hour and a half ¦ two and a half ¦ 2 and a half ¦ 2 hours and a half ¦ two in three ¦ 2 in 3 ¦ 2 of 3 ¦ 2 out of 3 ¦ 2k ¦ 2K
  4 ⇐ 1 in 4 ¦ one in 4 ¦ one in four ¦ 1 out of 4 ¦ 1 of 4 ¦ 1-in-4 ¦ The odds are 1 in 4. ¦ It happens 1 in 4 times. ¦ 1 in every 4 ¦ one of every 4
  50 ⇐ 12 dollars and 50 cents ¦ $12 and 50 cents ¦ It costs 12 dollars and 50 cents.
  12 ⇐ 12 dollars and 50 cents ¦ $12 and 50 cents ¦ A: 12 dollars and 50 cents
  10 ⇐ 9 x 10 ¦ 9 per 10 ¦ 9 for 10 ¦ 9 by 10 ¦ 9 of 10 ¦ 9/10 ¦ 9 over 10 ¦ 9 × 10 ¦ 9 \times 10 ¦ 9 out of 10 ¦ a 9 by 10 grid ¦ She gave 9 for every 10
  2\pi ⇐ 2 ¦ 2π² ¦ π² ¦ π/2 ¦ 4π ¦ 2π+1 ¦ 2τ ¦ 2θ ¦ 2p ¦ 2i ¦ 2\pi i ¦ 2 \pi r ¦ 2πr ¦ 6.28 ¦ -2π ¦ 2/π ¦ \boxed{2}π² ¦ 2π cm + 1
  \pi ⇐ p ¦ pie ¦ π² ¦ 2π ¦ 3.14 ¦ 22/7 ¦ Π ¦ τ
  \theta ⇐ θ² ¦ φ ¦ t ¦ 2θ ¦ Θ ¦ \boxed{\vartheta_1} ¦ \theta_1 ¦ θ₁
  \alpha\beta ⇐ α+β ¦ α/β
  3000000 ⇐ 3\text{ thousand} ¦ 3\text{ m} ¦ 3 mm ¦ 3 m ¦ $3K ¦ 3K ¦ 3 ¦ $3 ¦ 3 thousand ¦ 3 billion ¦ 3 Mrd. ¦ 3 тыс. ¦ 30万 ¦ 3千万 ¦ 30千
  36\pi ⇐ 36 ¦ 36θ ¦ 36 p ¦ 36π² ¦ 63π
  70000 ⇐ 70 ¦ $70 ¦ 70 K ¦ 7K ¦ 70M ¦ $70M ¦ 70 million ¦ 70 hundred
  300 ⇐ 300K ¦ 3K ¦ 300 thousand
  300 K ⇐ 300 thousand ¦ 300000 ¦ 300 °C
  70 K ⇐ 70000 ¦ 70k
  8000 ⇐ 8 M ¦ 8 m ¦ 8 km
  8K ⇐ 8 ¦ 8M ¦ 9K
  2k ⇐ 2 ¦ 2000000 ¦ 2m
  8\text{ million} ⇐ 8 ¦ 8\text{ thousand} ¦ 8K
  3\text{ million} ⇐ 3 ¦ $3 ¦ 3 thousand ¦ 30 million
  \$3 \text{ million} ⇐ 3 ¦ $3 ¦ €3 million
  $70K ⇐ 70 ¦ $70 ¦ 70 K ¦ €70K
  1 in 4 ⇐ 4 ¦ 1 ¦ 1/3 ¦ 1 in 5
  3 and a half ⇐ 3 ¦ 3 and a quarter
  12 dollars and 50 cents ⇐ 12 ¦ 50 ¦ 50 cents ¦ 12.05 ¦ 1250 dollars
  an hour and 30 minutes ⇐ 30 ¦ 30 minutes ¦ 1 hour
  3rd ⇐ 4th ¦ 5
  8‰ ⇐ 8 ¦ 8% ¦ 0.08
  50 bps ⇐ 50 ¦ 50% ¦ 5
  273 K ⇐ 273000 ¦ 273 thousand ¦ 273 °C
  273K ⇐ 273
  2.5M ⇐ 2.5 ¦ 2.5 m
  [8,\infty) ⇐ 8 ¦ (8,∞) ¦ [8,9) ¦ [9,∞) ¦ (-∞,8]
  8π ⇐ 8 ¦ 8π²
  8π cm ⇐ 8
  \frac{\pi}{4} ⇐ π ¦ 4 ¦ 1/4 ¦ 4/π ¦ 4π
  θ = \frac{π}{6} ⇐ φ = π/6 ¦ π/3
  α = 2 ⇐ β = 2 ¦ α = 3
  2α+β ⇐ 2β+α ¦ 2a+b
  ω ⇐ w ¦ Ω ¦ \Omega
  Σάββατο ⇐ Κυριακή
  2πr ⇐ 2π ¦ 2πR ¦ πr
  5 μm ⇐ 5 mm
  10 Ω ⇐ 10 V
  5万 ⇐ 5 ¦ 500000
  3 dozen ⇐ 3 ¦ 30
  5 million dollars ⇐ 5 ¦ $5 ¦ 5 thousand dollars ¦ 5 million euros
  2 million people ⇐ 2 ¦ 2 people
  1/2 million ⇐ 1/2 ¦ 0.5
  2 thousandths ⇐ 2 ¦ 2000
  k+k ⇐ 3k ¦ 2000
  2000 ⇐ 2m ¦ 2x
`

const rows = (table: string): (readonly [answer: string, texts: readonly string[]])[] =>
  table
    .trim()
    .split('\n')
    .map((line) => {
      const [answer = '', texts = ''] = line.trim().split(' ⇐ ')
      return [answer, texts.split(' ¦ ')]
    })

const both = ['numeric-equality', 'math-equality']

async function check(rewards: readonly string[], pairs: readonly Pair[], pays: boolean): Promise<void> {
  for (const pair of pairs)
    for (const id of rewards) expect(await paid(id, pair), `${id}: ${pair.join(' ⇐ ')}`).toBe(pays)
}

describe.each([
  { rewards: both, table: byBoth },
  { rewards: ['math-equality'], table: byMath },
  { rewards: ['numeric-equality'], table: byNumber },
])('$rewards pay', ({ rewards, table }) => {
  test.each(rows(table))('%s: %j', (answer, texts) =>
    check(
      rewards,
      texts.map((text) => [answer, text]),
      true,
    ),
  )
})

describe('neither pays', () => {
  test.each(rows(byNone))('%s: %j', (answer, texts) =>
    check(
      both,
      texts.flatMap((text) => [text, `\\boxed{${text}}`, `#### ${text}`].map((put): Pair => [answer, put])),
      false,
    ),
  )
})
